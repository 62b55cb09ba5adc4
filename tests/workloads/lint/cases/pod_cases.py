"""What the rules of `lint.rules.pod_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, both, launched, ranks

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "keys-not-readable": [
        (
            {"spec sshAuthMountPath": GONE, "WORKER-POD securityContext": {"runAsUser": 1000}},
            "spec sshAuthMountPath",
            "is /root/.ssh, which a pod with runAsUser: 1000 cannot read; write the .ssh folder of the image's "
            "user, such as /home/mpiuser/.ssh",
        ),
        (
            {"spec sshAuthMountPath": "/root/.ssh", "LAUNCHER-POD securityContext": {"runAsNonRoot": True}},
            "spec sshAuthMountPath",
            "is /root/.ssh, which a pod with runAsNonRoot: true cannot read; write the .ssh folder of the "
            "image's user, such as /home/mpiuser/.ssh",
        ),
    ],
    "worker-without-sshd": [
        (
            {"WORKER-CONTAINER command": ["bash", "-c", "while true; do sleep 30; done"]},
            "WORKER-CONTAINER command",
            "runs sleep and true, but the launcher reaches a worker through its sshd; remove command and args, or run "
            "/usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER command": ["sleep", "infinity"]},
            "WORKER-CONTAINER command",
            "runs sleep, but the launcher reaches a worker through its sshd; remove command and args, or run "
            "/usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER command": GONE, "WORKER-CONTAINER args": ["tail", "-f", "/dev/null"]},
            "WORKER-CONTAINER args",
            "runs tail, but the launcher reaches a worker through its sshd; remove command and args, or run "
            "/usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER command": ["sh", "-c", "sleep 365d"]},
            "WORKER-CONTAINER command",
            "runs sleep, but the launcher reaches a worker through its sshd; remove command and args, or run "
            "/usr/sbin/sshd -De",
        ),
    ],
    "work-not-in-first-container": [
        (
            {
                "WORKER-POD containers": [
                    {"name": "side", "image": "i"},
                    {"name": "work", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}},
                ]
            },
            "WORKER-POD containers 1",
            "has the GPUs, but the operator gives keys and hostfile to the first container only; move it to the"
            " front of the list",
        ),
        (
            {
                "LAUNCHER-POD containers": [
                    {"name": "side", "image": "i"},
                    {"name": "work", "image": "i", "command": ["mpirun", "-np", "16", "train"]},
                ]
            },
            "LAUNCHER-POD containers 1",
            "runs mpirun, but the operator gives keys and hostfile to the first container only; move it to the "
            "front of the list",
        ),
    ],
    "small-shared-memory": [
        (
            {"WORKER-CONTAINER volumeMounts": GONE},
            "WORKER-CONTAINER volumeMounts",
            "has no volume at /dev/shm, whose default is 64 MiB: NCCL and data loaders share data there; mount "
            "a volume with emptyDir: {medium: Memory} at /dev/shm",
        ),
        (
            {"WORKER-POD volumes 0 emptyDir": {}},
            "WORKER-CONTAINER volumeMounts",
            "has no memory at /dev/shm: NCCL and data loaders share data there; mount a volume with emptyDir: "
            "{medium: Memory} at /dev/shm",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "keys-not-readable": [
        {"WORKER-POD securityContext": {"runAsUser": 1000}},
        {"spec sshAuthMountPath": GONE},
        {
            "spec sshAuthMountPath": GONE,
            "WORKER-POD securityContext": {"runAsUser": 1000},
            "WORKER-CONTAINER securityContext": {"runAsUser": 0},
        },
    ],
    "worker-without-sshd": [
        {"WORKER-CONTAINER command": ["bash", "-c", "/usr/sbin/sshd; while true; do sleep 30; done"]},
        {"WORKER-CONTAINER command": GONE},
        {"WORKER-CONTAINER command": ["/start-worker"]},
        # Workers that run another scheduler.
        {
            "WORKER-CONTAINER command": ["python", "work.py"],
            "LAUNCHER-CONTAINER command": ["python", "mpi_scheduler.py"],
        },
        {"WORKER-CONTAINER command": ["bash", "-c", "service ssh start; sleep infinity"]},
        {"WORKER-CONTAINER command": ["/init.sh", "/usr/sbin/sshd", "-De"]},
        {"WORKER-CONTAINER command": ["python", "-m", "training.pods.worker", "--", "/usr/sbin/sshd", "-De"]},
    ],
    "work-not-in-first-container": [
        {},
        {
            "LAUNCHER-POD containers": [
                {"name": "work", "image": "i", "command": ["mpirun", "-np", "16", "train"]},
                {"name": "side", "image": "i"},
            ]
        },
    ],
    "small-shared-memory": [
        {"WORKER-CONTAINER volumeMounts": GONE, "WORKER-POD hostIPC": True},
        {"WORKER-CONTAINER volumeMounts": GONE, **both("nvidia.com/gpu", GONE)},
        {"WORKER-CONTAINER volumeMounts": GONE, **both("nvidia.com/gpu", 1)},
        {"WORKER-CONTAINER volumeMounts": GONE, **both("nvidia.com/gpu", 2), "spec slotsPerWorker": 2, **ranks(4)},
        # One process has all GPUs of a worker.
        {"WORKER-CONTAINER volumeMounts": GONE, **launched("mpirun", "-np", "2", "-N", "1", "train")},
        {"WORKER-CONTAINER volumeMounts": GONE, **launched("mpirun", "-np", "16", "nvbandwidth")},
        {
            "WORKER-CONTAINER volumeMounts": GONE,
            "spec slotsPerWorker": 1,
            **launched("mpirun", "-np", "2", "torchrun", "--nproc_per_node", "1", "train.py"),
        },
        # What it starts does not show.
        {"WORKER-CONTAINER volumeMounts": GONE, **launched("/start")},
        # The mistake of unknown-volume.
        {"WORKER-POD volumes": [{"name": "other", "emptyDir": {}}]},
        {"WORKER-POD volumes": [{"name": "shm", "hostPath": {"path": "/dev/shm"}}]},
    ],
}
