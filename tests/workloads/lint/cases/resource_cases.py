"""What the rules of `lint.rules.resource_rules` and `lint.rules.volume_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, both, variables

MOUNT = "WORKER-CONTAINER volumeMounts 0"
VOLUME = "WORKER-POD volumes 0"
REQUESTS = "WORKER-CONTAINER resources requests"
LIMITS = "WORKER-CONTAINER resources limits"

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "request-above-limit": [
        (
            {f"{LIMITS} memory": "800Gi"},
            f"{REQUESTS} memory",
            "is 900Gi but the limit is 800Gi, and the pod is rejected; request the limit or less, or raise the limit",
        ),
        (
            {
                "WORKER-POD initContainers": [
                    {"name": "a", "image": "i:1", "resources": {"requests": {"cpu": 2}, "limits": {"cpu": "500m"}}}
                ]
            },
            "WORKER-POD initContainers 0 resources requests cpu",
            "is 2 but the limit is 500m, and the pod is rejected; request the limit or less, or raise the limit",
        ),
    ],
    "negative-amount": [
        (
            both("memory", "-1Gi"),
            f"{REQUESTS} memory",
            "is -1Gi, and the pod is rejected; give 0 or more",
            f"{LIMITS} memory",
            "is -1Gi, and the pod is rejected; give 0 or more",
        ),
        (
            {f"{VOLUME} emptyDir sizeLimit": -5},
            f"{VOLUME} emptyDir sizeLimit",
            "is -5, and the pod is rejected; give 0 or more",
        ),
    ],
    "resource-name": [
        (
            {f"{LIMITS} gpu": 8},
            f"{LIMITS} gpu",
            "is no resource of Kubernetes, and has no domain; the pod is rejected; did you mean nvidia.com/gpu?",
        ),
        (
            {f"{REQUESTS} memroy": "1Gi"},
            f"{REQUESTS} memroy",
            "is no resource of Kubernetes, and has no domain; the pod is rejected; did you mean memory? known: cpu, "
            "ephemeral-storage, memory",
        ),
    ],
    "hugepage-multiple": [
        (
            both("hugepages-2Mi", 5120),
            f"{REQUESTS} hugepages-2Mi",
            "is 5120, which is no multiple of the page, and the pod is rejected; give bytes, such as 5120Mi",
            f"{LIMITS} hugepages-2Mi",
            "is 5120, which is no multiple of the page, and the pod is rejected; give bytes, such as 5120Mi",
        ),
    ],
    "device-of-pod": [
        (
            {"WORKER-POD resources": {"limits": {"nvidia.com/gpu": 8}}},
            "WORKER-POD resources limits nvidia.com/gpu",
            "is a device, which only a container can request, and the pod is rejected; move it to the container's "
            "resources",
        ),
    ],
    "hugepages-medium": [
        (
            {"LAUNCHER-POD volumes": [{"name": "huge", "emptyDir": {"medium": "HugePages"}}]},
            "LAUNCHER-POD volumes 0 emptyDir medium",
            "is HugePages, but no container of the pod requests huge pages: the volume cannot be mounted; add "
            "hugepages-2Mi to requests and limits, or use another medium",
        ),
    ],
    "mount-path-form": [
        (
            {f"{MOUNT} mountPath": "/dev/shm:ro"},
            f"{MOUNT} mountPath",
            "is '/dev/shm:ro', and a path must not have a ':'; write /dev/shm, and readOnly: true where it is "
            "only read",
        ),
        (
            {f"{MOUNT} mountPath": ""},
            f"{MOUNT} mountPath",
            "is empty, and the pod is rejected; give the path in the container",
        ),
    ],
    "unmounted-volume": [
        (
            {
                "WORKER-POD volumes 0": {"name": "data", "nfs": {"server": "a", "path": "/data"}},
                "WORKER-CONTAINER volumeMounts": [],
            },
            f"{VOLUME} name",
            "is 'data', which no container of the Worker's pod mounts; add it to volumeMounts, or remove the volume",
        ),
    ],
    "sub-path": [
        (
            {f"{MOUNT} subPath": "../data"},
            f"{MOUNT} subPath",
            "is '../data', which is not below the volume, and the pod is rejected; give a path without a leading '/' "
            "and without '..'",
        ),
        (
            {f"{MOUNT} subPath": "a", f"{MOUNT} subPathExpr": "$(B)", **variables("WORKER", B="b")},
            f"{MOUNT} subPathExpr",
            "is given with subPath, and the pod is rejected; keep one of them",
        ),
    ],
    "incomplete-source": [
        (
            {VOLUME: {"name": "shm", "secret": {}}},
            f"{VOLUME} secret secretName",
            "is missing, and the pod is rejected; add it",
        ),
        (
            {VOLUME: {"name": "shm", "hostPath": {"path": "/mnt/../etc"}}},
            f"{VOLUME} hostPath path",
            "is '/mnt/../etc', and the pod is rejected; give a path without '..'",
        ),
        (
            {VOLUME: {"name": "shm", "nfs": {"server": "10.0.0.1", "path": "data"}}},
            f"{VOLUME} nfs path",
            "is 'data', and the pod is rejected; give an absolute path",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "request-above-limit": [
        {},
        {f"{LIMITS} memory": "1Ti"},
        {f"{LIMITS} memory": GONE},
        {f"{LIMITS} memory": "$MEMORY"},
    ],
    "negative-amount": [both("cpu", 0)],
    "resource-name": [{f"{REQUESTS} ephemeral-storage": "1Gi"}, {f"{REQUESTS} $RESOURCE": 1}],
    "hugepage-multiple": [both("hugepages-2Mi", "5Gi"), both("hugepages-2Mi", "$PAGES")],
    "device-of-pod": [{"WORKER-POD resources": {"limits": {"cpu": 8, "hugepages-2Mi": "2Mi"}}}],
    "hugepages-medium": [{f"{VOLUME} emptyDir medium": "HugePages-2Mi"}],
    "mount-path-form": [{f"{MOUNT} mountPath": "data"}, {f"{MOUNT} mountPath": "${DIR:-/data}"}],
    "unmounted-volume": [
        # As the workers have.
        {"LAUNCHER-POD volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
        {},
        {VOLUME: {"name": "sys", "hostPath": {"path": "/sys"}}, "WORKER-CONTAINER volumeMounts": []},
        {"WORKER-CONTAINER volumeMounts": []},
        {
            VOLUME: {"name": "data", "hostPath": {"path": "/data"}},
            "WORKER-CONTAINER volumeMounts": [],
            "WORKER-POD initContainers": [
                {"name": "a", "image": "i:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
            ],
        },
    ],
    "sub-path": [{f"{MOUNT} subPath": "a/..b"}, {f"{MOUNT} subPathExpr": "$(POD_NAME)"}],
    "incomplete-source": [
        {VOLUME: {"name": "shm", "secret": {"secretName": "keys"}}},
        {VOLUME: {"name": "shm", "nfs": {"server": "10.0.0.1", "path": "${DIR}"}}},
    ],
}
