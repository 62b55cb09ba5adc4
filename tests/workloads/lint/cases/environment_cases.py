"""What the rules of `lint.rules.environment_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import ELASTIC, GONE, launched, script, variables

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "variables-do-not-reach-ranks": [
        (
            {"WORKER-CONTAINER env": [{"name": "NCCL_ALGO", "value": "Ring"}, {"name": "DATA", "value": "/fsx"}]},
            "WORKER-CONTAINER env",
            "the worker's NCCL_ALGO, DATA do not reach the ranks, which ssh starts; set them on the launcher "
            "and add -x NCCL_ALGO -x DATA to mpirun",
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
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "variables-do-not-reach-ranks": [
        # Without them the ranks do the same, or only log less.
        variables("WORKER", UCX_TLS="self,sm,cuda_copy", UCX_RNDV_SCHEME="get_zcopy", NCCL_DEBUG="INFO", TZ="UTC"),
        variables("WORKER", NCCL_SOCKET_IFNAME="eth0", FI_EFA_USE_DEVICE_RDMA="1", RDMAV_FORK_SAFE="1"),
        # mpirun itself needs it.
        {"LAUNCHER-CONTAINER env 1": {"name": "LD_LIBRARY_PATH", "value": "/opt/amazon/openmpi/lib"}},
        # The finding of hidden-gpus is to remove it.
        {"WORKER-CONTAINER env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]},
        # The same as without it.
        variables("WORKER", DEBUG="0"),
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
}
