"""The network interfaces that variables name: a pod without the node's network has `eth0` and `lo`.

https://github.com/containernetworking/cni/blob/main/SPEC.md
"""

__all__ = ["INTERFACE_VARIABLES", "LOOPBACK", "NCCL_INTERFACES", "POD_INTERFACE", "names_interface"]

POD_INTERFACE, LOOPBACK = "eth0", "lo"

#: The variable of NCCL, whose names are prefixes: `=` means the whole name, and `^` excludes
#: (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname).
NCCL_INTERFACES = "NCCL_SOCKET_IFNAME"

#: Variables with interfaces; all but NCCL's have whole names.
INTERFACE_VARIABLES = (
    NCCL_INTERFACES,
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "HOROVOD_GLOO_IFACE",
    "OMPI_MCA_btl_tcp_if_include",
    "OMPI_MCA_oob_tcp_if_include",
    "PRTE_MCA_oob_tcp_if_include",
    "PRTE_MCA_prte_if_include",
)


def names_interface(variable: str, value: str, interface: str) -> bool:
    """Return whether the value of a variable includes an interface, or with NCCL's `^` excludes it."""
    names = [name.strip() for name in value.lstrip("^=").split(",")]
    if variable == NCCL_INTERFACES and not value.lstrip("^").startswith("="):
        return any(interface.startswith(name) for name in names if name)
    return interface in names
