"""A network with loopback alone, which no other machine reaches: the kernel gives it to the processes of one run.

Launchers and ranks listen on every address and trust every client; the servers of PyTorch's own `torchrun` and of
Horovod's own `horovodrun` run what a client writes.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

__all__ = ["enter", "is_allowed"]

# https://man7.org/linux/man-pages/man2/unshare.2.html
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000

# https://man7.org/linux/man-pages/man7/netdevice.7.html: a name of 16 bytes and the flags, in a structure of 40 bytes.
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_INTERFACE = struct.pack("16sH22x", b"lo", _IFF_UP)

_LIBC = ctypes.CDLL(None, use_errno=True)


def is_allowed() -> bool:
    """Return whether this kernel gives a user a private network; containers often forbid it."""
    try:
        subprocess.run([sys.executable, "-S", "-c", ""], preexec_fn=enter, capture_output=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def enter() -> None:
    """Give the calling process a private network; call it between fork and exec.

    Raises:
        OSError: The kernel forbids it.
    """
    if sys.platform != "linux":
        raise OSError("only Linux has private networks")
    user, group = os.geteuid(), os.getegid()
    if user == 0 and _LIBC.unshare(_CLONE_NEWNET) == 0:
        _start_loopback()
        return
    # Another user gets it with a user namespace, whose only user and group are these.
    if _LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{file}", "w") as settings:
            settings.write(text)
    _start_loopback()


def _start_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _INTERFACE)
