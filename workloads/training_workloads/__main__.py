"""The command line: `trainctl`, or `python -m training_workloads`."""

import gc
import signal
import sys
from typing import Final

from training_workloads.exit_codes import INTERRUPTED, USER_ERROR
from training_workloads.validation import MISSING, Problem

__all__ = ["PACKAGES", "main"]

#: What the extra `[cli]` installs, as Python imports it.
PACKAGES: Final = {"boto3", "click", "docker", "kubernetes", "kubernetes_validate", "psutil", "rich"}

# How many new objects start a search for garbage. Python's own number is 700.
_OBJECTS: Final = 100_000


def main() -> None:
    """Run the command line, or print which of the packages of the extra `[cli]` is missing."""
    # Imports make many objects and no garbage: looking for some takes a tenth of the time of `--help` and `lint`.
    gc.set_threshold(_OBJECTS)
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
        # All memory is freed now: a last search for garbage in it would take a tenth of the time too.
        gc.freeze()
        # All is done; jsii's exit handler, which waits for Node.js, would end in a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
