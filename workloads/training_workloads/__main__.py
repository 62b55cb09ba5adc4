"""The command line: `trainctl`, or `python -m training_workloads`."""

import signal
import sys

from training_workloads.mpijob.programs import USER_ERROR
from training_workloads.validation import MISSING, Problem

__all__ = ["main"]

# Ctrl-C, in the convention of shells: 128 + SIGINT.
_INTERRUPTED = 130


def main() -> None:
    """Run the command line, or print which of the packages of the extra `[cli]` is missing."""
    try:
        # Here, because these packages are not among those that the constructs need.
        from training_workloads.cli import main as run

        run()
    except KeyboardInterrupt:
        # While it starts; the commands have their own sentence.
        print("interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except ModuleNotFoundError as error:
        name = error.name or ""
        if not name or name.partition(".")[0] == __package__:
            raise
        problem = Problem(path=(name,), given=MISSING, fix="run pip install 'cdk-training-cluster[cli]'")
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(USER_ERROR)
    finally:
        # All is done; jsii's exit handler, which waits for Node.js, would end in a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
