"""What the rules of `lint.rules.mount_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import launched

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
EMPTY: dict[str, Any] = {"name": "data", "emptyDir": {}}
ON_NODE = {"name": "data", "hostPath": {"path": "/opt/tools"}}


def mounted(where: str, volume: dict[str, Any], role: str = "WORKER", **others: str) -> dict[str, Any]:
    """The role mounts a volume as its second, or only, one."""
    number = 1 if role == "WORKER" else 0
    return {
        f"{role}-POD volumes": [*([{"name": "shm", "emptyDir": {"medium": "Memory"}}] * number), volume],
        f"{role}-CONTAINER volumeMounts": [
            *([{"name": "shm", "mountPath": "/dev/shm"}] * number),
            {"name": volume["name"], "mountPath": where, **others},
        ],
    }


#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "mount-over-programs": [
        (
            mounted("/usr/", EMPTY),
            "WORKER-CONTAINER volumeMounts 1 mountPath",
            "is /usr/, and hides the image's own files there; mount it at a separate folder, such as /fsx",
        ),
        (
            mounted("/", CLAIM),
            "WORKER-CONTAINER volumeMounts 1 mountPath",
            "is /, and hides the image's own files there; mount it at a separate folder, such as /fsx",
        ),
        (
            {**mounted("/opt", EMPTY, "LAUNCHER"), **launched("/opt/amazon/openmpi/bin/mpirun", "-np", "16", "train")},
            "LAUNCHER-CONTAINER volumeMounts 0 mountPath",
            "is /opt, and hides /opt/amazon/openmpi/bin/mpirun, which the container starts; mount it at a "
            "separate folder, such as /fsx",
        ),
    ],
    "volume-without-source": [
        (
            {"WORKER-POD volumes 0": volume},
            "WORKER-POD volumes 0",
            "has no source, and Kubernetes makes it an empty directory, whose files end with the pod; give its source, "
            "or emptyDir: {}",
        )
        for volume in ({"name": "shm"}, {"name": "shm", "persistentVolumeClaim": None})
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "mount-over-programs": [
        mounted("/fsx", EMPTY),
        mounted("/var", EMPTY),
        # They bring the program.
        *(
            {**mounted("/opt/job", volume, "LAUNCHER"), **launched("/opt/job/start", "-np", "16", "train")}
            for volume in (
                {"name": "scripts", "configMap": {"name": "scripts", "defaultMode": 0o555}},
                {"name": "scripts", "projected": {"sources": [{"secret": {"name": "scripts"}}]}},
                {"name": "scripts", "csi": {"driver": "image.csi.k8s.io"}},
                CLAIM,
            )
        ),
        # An init container fills it.
        {
            **mounted("/opt/job", EMPTY, "LAUNCHER"),
            **launched("/opt/job/start", "-np", "16", "train"),
            "LAUNCHER-POD initContainers": [
                {
                    "name": "copy",
                    "image": "tools:1",
                    "volumeMounts": [{"name": "data", "mountPath": "/to", "subPath": "bin"}],
                }
            ],
        },
        mounted("/opt", CLAIM),
        mounted("/opt/ml", CLAIM),
        mounted("/usr/local", ON_NODE),
        mounted("/etc", CLAIM, subPath="conf"),
    ],
    "volume-without-source": [
        {"WORKER-POD volumes 0": {"name": "shm", "emptyDir": None}},
        {"WORKER-POD volumes 0": CLAIM | {"name": "shm"}},
    ],
}
