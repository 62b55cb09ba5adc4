"""What the rules of `lint.rules.environment_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import (
    ELASTIC,
    GONE,
    HOSTS,
    WITHOUT_EFA,
    WITHOUT_PROVIDER,
    both,
    launched,
    script,
    variables,
)

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "efa-not-requested": [
        (
            WITHOUT_EFA,
            "LAUNCHER-CONTAINER env 0",
            "sets FI_PROVIDER=efa, but the pods of the ranks request no vpc.amazonaws.com/efa; add "
            "vpc.amazonaws.com/efa to their requests and limits, or remove FI_PROVIDER",
        ),
        (
            {
                **WITHOUT_EFA,
                **launched("mpirun", "-x", "FI_PROVIDER=efa", *HOSTS, "train"),
                "LAUNCHER-CONTAINER env": GONE,
            },
            "LAUNCHER-CONTAINER command",
            "sets FI_PROVIDER=efa, but the pods of the ranks request no vpc.amazonaws.com/efa; add "
            "vpc.amazonaws.com/efa to their requests and limits, or remove FI_PROVIDER",
        ),
    ],
    "variables-do-not-reach-ranks": [
        (
            {"WORKER-CONTAINER env": [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "DATA", "value": "/fsx"}]},
            "WORKER-CONTAINER env",
            "the worker's NCCL_DEBUG, DATA do not reach the ranks, which ssh starts; set them on the launcher "
            "and add -x NCCL_DEBUG -x DATA to mpirun",
        ),
        (
            {"LAUNCHER-CONTAINER env 0 name": "HOROVOD_CYCLE_TIME"},
            "LAUNCHER-CONTAINER env",
            "the launcher's HOROVOD_CYCLE_TIME do not reach the ranks, which ssh starts; add -x "
            "HOROVOD_CYCLE_TIME to mpirun",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "TOKEN", "value": "x"}], "WORKER-CONTAINER command": GONE},
            "WORKER-CONTAINER env",
            "the worker's TOKEN do not reach the ranks, which ssh starts; set them on the launcher and add -x "
            "TOKEN to mpirun",
        ),
        (
            {
                "WORKER-CONTAINER env": [{"name": "TOKEN", "value": "x"}],
                "WORKER-CONTAINER command": ["python", "-m", "training.pods.worker", "--", "/usr/sbin/sshd", "-De"],
            },
            "WORKER-CONTAINER env",
            "the worker's TOKEN do not reach the ranks, which ssh starts; set them on the launcher and add -x "
            "TOKEN to mpirun",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "DATA", "value": "/fsx"}], **launched(*ELASTIC)},
            "WORKER-CONTAINER env",
            "the worker's DATA do not reach the ranks, which ssh starts; set them on the launcher",
        ),
    ],
    "host-network-interface": [
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="en"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME=en, but a pod's interface is eth0; write NCCL_SOCKET_IFNAME=^lo,docker,veth, or "
            "remove it",
        ),
        (
            launched("mpirun", "-x", "NCCL_SOCKET_IFNAME=ens5,eth1", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "sets NCCL_SOCKET_IFNAME=ens5,eth1, but a pod's interface is eth0; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="=eth"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME==eth, but a pod's interface is eth0; write NCCL_SOCKET_IFNAME=^lo,docker,veth, "
            "or remove it",
        ),
    ],
    "fork-safe-variable": [
        (
            variables("WORKER", RDMAV_FORK_SAFE="1"),
            "WORKER-CONTAINER env 0",
            "sets RDMAV_FORK_SAFE=1, which can break EFA on newer kernels; remove it: those kernels fork safely "
            "without it",
        ),
        (
            launched("mpirun", "-x", "RDMAV_FORK_SAFE=1", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "sets RDMAV_FORK_SAFE=1, which can break EFA on newer kernels; remove it: those kernels fork safely "
            "without it",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "efa-not-requested": [
        {},
        {**WITHOUT_EFA, "LAUNCHER-CONTAINER env 0 value": "tcp"},
        {**WITHOUT_EFA, "WORKER-POD resourceClaims": [{"name": "efa", "resourceClaimTemplateName": "efa"}]},
        {**WITHOUT_EFA, "WORKER-CONTAINER securityContext": {"privileged": True}},
        {**WITHOUT_EFA, **WITHOUT_PROVIDER},
        both("vpc.amazonaws.com/efa", "$EFA"),
    ],
    "variables-do-not-reach-ranks": [
        {
            "WORKER-CONTAINER env": [
                {"name": "FI_PROVIDER", "value": "efa"},
                {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            ]
        },
        {
            "WORKER-CONTAINER env": [{"name": "A", "value": "1"}],
            "WORKER-CONTAINER command": ["bash", "-c", "env > /etc/environment; exec /usr/sbin/sshd -De"],
        },
        {**launched(*ELASTIC)},
        {"spec mpiImplementation": "Intel", **launched("mpirun", "-n", "16", "train")},
        {"LAUNCHER-CONTAINER env 0 name": "HOROVOD_CYCLE_TIME", **script("mpirun $FLAGS train")},
        {"LAUNCHER-CONTAINER env 0 name": "HOME"},
        {"LAUNCHER-CONTAINER command": ["/start"], "WORKER-CONTAINER env": [{"name": "A", "value": "1"}]},
    ],
    "host-network-interface": [
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="^lo,docker"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="eth"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="=eth0"),
        {"LAUNCHER-CONTAINER env 0": {"name": "NCCL_SOCKET_IFNAME", "value": "en"}, "WORKER-POD hostNetwork": True},
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="net1"),
    ],
    "fork-safe-variable": [
        launched("mpirun", "-x", "FI_EFA_FORK_SAFE=1", *HOSTS, "train"),
    ],
}
