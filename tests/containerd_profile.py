"""The calls of MPI, CUDA and libfabric that `RuntimeDefault` rejects on EKS, whose nodes run containerd.

For a container without capabilities containerd's profile allows a list of calls
(https://github.com/containerd/containerd/blob/main/contrib/seccomp/seccomp_default.go); the file beside this module has
those of a training job that are not on it. Podman's own profile allows memory policies and `process_vm_readv`.
"""

import ctypes
import json
import struct
from pathlib import Path

__all__ = ["PROFILE", "reject_calls"]

#: The profile as container runtimes read it.
PROFILE = Path(__file__).with_suffix(".json")

# https://github.com/torvalds/linux/blob/master/arch/x86/entry/syscalls/syscall_64.tbl
_NUMBERS_ON_X86_64 = {
    "get_mempolicy": 239,
    "kcmp": 312,
    "mbind": 237,
    "migrate_pages": 256,
    "move_pages": 279,
    "perf_event_open": 298,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "set_mempolicy": 238,
    "unshare": 272,
    "userfaultfd": 323,
}

# Constants of linux/prctl.h, linux/seccomp.h and linux/bpf_common.h.
_SET_SECCOMP, _FILTER, _SET_NO_NEW_PRIVILEGES = 22, 2, 38
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def reject_calls() -> None:
    """Apply the profile to this process and its children: the `preexec_fn` of a subprocess.

    Raises:
        OSError: The kernel rejects the filter.
    """
    instructions = [(_LOAD, 0, 0, 0)]
    for rule in json.loads(PROFILE.read_text())["syscalls"]:
        for name in rule["names"]:
            # If it is not this call, skip the next instruction.
            instructions.append((_JUMP_IF_EQUAL, 0, 1, _NUMBERS_ON_X86_64[name]))
            instructions.append((_RETURN, 0, 0, _ERRNO | rule["errnoRet"]))
    instructions.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("HBBI", *each) for each in instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    program = ctypes.byref(_Program(len(instructions), code))
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel rejects the filter")
