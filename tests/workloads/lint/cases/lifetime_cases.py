"""What the rules of `lint.rules.lifetime_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.cases.mount_cases import CLAIM, mounted
from tests.workloads.lint.sample_job import script, variables

MPIRUN = "mpirun -np 16 --hostfile /etc/mpi/hostfile --bind-to none -x FI_PROVIDER train"
EMPTY: dict[str, Any] = {"name": "data", "emptyDir": {}}


def beside(role: str, *command: str, image: str = "image:1") -> dict[str, Any]:
    """The role has a second container."""
    words = {"command": list(command)} if command else {}
    return {f"{role}-POD containers 1": {"name": "other", "image": image, **words}}


NEVER = (
    "LAUNCHER-POD containers 1",
    "runs until it is stopped, and the pod never completes; move it to initContainers with restartPolicy: Always, "
    "which makes it a sidecar",
)

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "sidecar-never-ends": [
        (beside("LAUNCHER", "tensorboard", "--logdir=/fsx"), *NEVER),
        (beside("LAUNCHER", image="a.b/fluent-bit:3"), *NEVER),
        (beside("LAUNCHER", "sh", "-c", "while true; do sync; sleep 60; done"), *NEVER),
    ],
    "waits-after-training": [
        (
            script(f"{MPIRUN}; sleep infinity"),
            "LAUNCHER-CONTAINER command",
            "ends with 'sleep infinity', with which the job never completes; remove it",
        ),
        (
            script(f"{MPIRUN}\ntail -f /dev/null"),
            "LAUNCHER-CONTAINER command",
            "ends with 'tail -f /dev/null', with which the job never completes; remove it",
        ),
    ],
    "files-lost-with-pod": [
        (
            mounted(where, EMPTY),
            "WORKER-CONTAINER volumeMounts 1 mountPath",
            f"is {where}, which is an emptyDir: its files end with the pod, and no other pod sees them; mount the "
            "claim of a shared file system there",
        )
        for where in ("/fsx", "/mnt/checkpoints")
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "sidecar-never-ends": [
        beside("LAUNCHER", "cp", "a", "b"),
        # The operator deletes the workers.
        beside("WORKER", "tensorboard", "--logdir=/fsx"),
    ],
    "waits-after-training": [
        script(f"sleep 5; {MPIRUN}"),
        script(f"{MPIRUN}; sleep 5"),
        # Five days for a person in the pod.
        script(f"{MPIRUN}; sleep 432000"),
        script("python3 -c 'import torch'; sleep infinity"),
    ],
    "files-lost-with-pod": [
        # The program may save them elsewhere.
        {
            "WORKER-CONTAINER volumeMounts 1": {"name": "c", "mountPath": "/checkpoints"},
            "WORKER-POD volumes 1": {"name": "c", "emptyDir": {}},
            **variables("WORKER", OUTPUT="s3://bucket/run"),
        },
        mounted("/fsx", CLAIM),
        mounted("/scratch", EMPTY),
        mounted("/fsx", EMPTY)
        | {
            "WORKER-POD initContainers": [
                {"name": "a", "image": "i:1", "volumeMounts": [{"name": "data", "mountPath": "/a"}]}
            ]
        },
    ],
}
