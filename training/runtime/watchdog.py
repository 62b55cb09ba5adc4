"""The end of a rank that waits for ever.

Horovod ends a job whose ranks wait for one that is hung, but not if that one is rank 0, nor if a rank hangs by itself,
such as in a read from a file system that does not answer. Here every rank watches its own progress.
"""

import faulthandler
import os

#: Horovod's own limit, which the jobs set; one number for both.
_VARIABLE = "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"

# Long enough for the first step of a GPU: XLA compiles and cuDNN tries its algorithms.
_DEFAULT_SECONDS = 600


def limit() -> int:
    """Seconds without progress after which a rank ends; where none is set, Horovod gets the same one.

    To be called before Horovod starts.
    """
    text = os.environ.setdefault(_VARIABLE, str(_DEFAULT_SECONDS))
    return int(text) if text.isdecimal() and int(text) > 0 else _DEFAULT_SECONDS


def progress() -> None:
    """Says that this rank has got on; if that is not said again in time, it ends with code 1 and says where it hangs.

    In a thread of faulthandler's, which needs no lock of Python's: the main thread may hold it for ever.
    """
    faulthandler.dump_traceback_later(limit(), exit=True)


def finished() -> None:
    """Ends the watch."""
    faulthandler.cancel_dump_traceback_later()
