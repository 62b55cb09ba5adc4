"""The command line: `trainctl`, or `python -m training_workloads`."""

import signal
import sys
from typing import Final

from training_workloads.exit_codes import INTERRUPTED, USER_ERROR
from training_workloads.validation import MISSING, Problem

__all__ = ["PACKAGES", "main"]

#: What the extra `[cli]` installs, as Python imports it.
PACKAGES: Final = {"boto3", "click", "docker", "kubernetes", "kubernetes_validate", "psutil", "rich"}


def main() -> None:
    """Run the command line, or print which of the packages of the extra `[cli]` is missing."""
    try:
        # Here, because these packages are not among those that the constructs need.
        from training_workloads.cli import main as run

        run()
    except KeyboardInterrupt:
        # While it starts; the commands have their own sentence.
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except ModuleNotFoundError as error:
        # Not one of another package, which a group of commands may import.
        if (error.name or "").partition(".")[0] not in PACKAGES:
            raise
        problem = Problem(path=(str(error.name),), given=MISSING, fix="run pip install 'cdk-training-cluster[cli]'")
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(USER_ERROR)
    finally:
        # All is done; jsii's exit handler, which waits for Node.js, would end in a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
