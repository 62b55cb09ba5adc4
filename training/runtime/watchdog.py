"""The watchdog: it ends a rank that makes no progress.

Horovod ends a job whose ranks wait for one that hangs, but not if that one is rank zero, nor if a rank hangs outside
Horovod, such as in a read from a file system that does not answer. Here every rank watches its own progress.
"""

import faulthandler
import os

#: Horovod's own limit, which the jobs set; one number for both.
_VARIABLE = "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"

# Long enough for the first step of a GPU: XLA compiles and cuDNN tries its algorithms.
_DEFAULT_SECONDS = 600


def limit() -> int:
    """Return the seconds without progress after which a rank ends; where none are set, Horovod gets the same limit.

    Call it before Horovod starts.
    """
    text = os.environ.setdefault(_VARIABLE, str(_DEFAULT_SECONDS))
    return int(text) if text.isdecimal() and int(text) > 0 else _DEFAULT_SECONDS


def progress() -> None:
    """Report progress; without another report in time the rank prints where it hangs and ends with code 1.

    The thread of faulthandler needs no lock of Python's, which the main thread may hold for ever.
    """
    # By number: `sys.stderr` may have been replaced, such as in a notebook.
    faulthandler.dump_traceback_later(limit(), exit=True, file=2)


def finished() -> None:
    """Stop watching."""
    faulthandler.cancel_dump_traceback_later()
