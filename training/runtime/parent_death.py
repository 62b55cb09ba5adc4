"""A process that ends with the one that started it."""

import ctypes
import signal

# https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
_PR_SET_PDEATHSIG = 1


def send_when_the_parent_ends(number: signal.Signals) -> None:
    """Let the kernel send this process a signal when its parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
