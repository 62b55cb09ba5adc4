"""What the rules of `lint.rules.container_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE

SHM = {"name": "shm", "mountPath": "/dev/shm"}

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "empty-container": [
        (
            {"WORKER-POD containers": [None]},
            "WORKER-POD containers 0",
            "is empty, and the pod is rejected; give a container, or remove the line",
        ),
        (
            {"LAUNCHER-POD initContainers": [{"name": "wait", "image": "i"}, None]},
            "LAUNCHER-POD initContainers 1",
            "is empty, and the pod is rejected; give a container, or remove the line",
        ),
    ],
    "missing-image": [
        (
            {"WORKER-CONTAINER image": GONE},
            "WORKER-CONTAINER image",
            "is missing, and the pod is rejected; give the image that the container runs",
        ),
        (
            {"LAUNCHER-POD initContainers": [{"name": "wait", "image": ""}]},
            "LAUNCHER-POD initContainers 0 image",
            "is missing, and the pod is rejected; give the image that the container runs",
        ),
    ],
    "image-address": [
        (
            {"WORKER-CONTAINER image": "https://registry/image:1"},
            "WORKER-CONTAINER image",
            "is 'https://registry/image:1', and the pod waits with InvalidImageName; omit 'https://'",
        ),
        (
            {"LAUNCHER-CONTAINER image": " image:1"},
            "LAUNCHER-CONTAINER image",
            "is ' image:1', and the pod waits with InvalidImageName; remove the blank",
        ),
        (
            {"LAUNCHER-CONTAINER image": "image:1@2"},
            "LAUNCHER-CONTAINER image",
            "is 'image:1@2', and the pod waits with InvalidImageName; give the image's address, such as "
            "<repository>:<tag>",
        ),
    ],
    "container-names": [
        (
            {"WORKER-POD containers 0 name": "side", "WORKER-POD initContainers": [{"name": "side", "image": "i"}]},
            "WORKER-CONTAINER name",
            "is 'side', as another container's of this pod, and the pod is rejected; give each container another name",
        ),
        (
            {"LAUNCHER-POD containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "j"}]},
            "LAUNCHER-POD containers 1 name",
            "is 'a', as another container's of this pod, and the pod is rejected; give each container another name",
        ),
    ],
    "unknown-volume": [
        (
            {"WORKER-CONTAINER volumeMounts": [SHM, {"name": "data", "mountPath": "/data"}]},
            "WORKER-CONTAINER volumeMounts 1 name",
            "is 'data', which is not a volume of the Worker's pod, and the pod is rejected; add it to volumes, or "
            "mount one of shm",
        ),
        (
            {"LAUNCHER-CONTAINER volumeMounts": [SHM]},
            "LAUNCHER-CONTAINER volumeMounts 0 name",
            "is 'shm', which is not a volume of the Launcher's pod, and the pod is rejected; add it to volumes",
        ),
    ],
    "mount-paths": [
        (
            {"WORKER-CONTAINER volumeMounts": [SHM, SHM]},
            "WORKER-CONTAINER volumeMounts 1 mountPath",
            "is '/dev/shm', as another mount's of this container, and the pod is rejected; mount each volume at "
            "another path",
        ),
    ],
    "variable-name": [
        (
            {"WORKER-CONTAINER env": [{"name": "NCCL_DEBUG=INFO", "value": "x"}]},
            "WORKER-CONTAINER env 0 name",
            "is 'NCCL_DEBUG=INFO', and the pod is rejected; use letters, digits and '_', no digit first",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "NCCL DEBUG", "value": "x"}]},
            "WORKER-CONTAINER env 0 name",
            "is 'NCCL DEBUG', and no program reads a variable of that name; use letters, digits and '_', no "
            "digit first",
        ),
    ],
    "value-and-source": [
        (
            {
                "WORKER-CONTAINER env": [
                    {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
                ]
            },
            "WORKER-CONTAINER env 0",
            "has value and valueFrom, and the pod is rejected; keep one of them",
        ),
    ],
    "pod-field": [
        (
            {"WORKER-CONTAINER env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels.rank"}}}]},
            "WORKER-CONTAINER env 0 valueFrom fieldRef fieldPath",
            "is 'metadata.labels.rank', and the pod is rejected; write metadata.labels['rank']",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations"}}}]},
            "WORKER-CONTAINER env 0 valueFrom fieldRef fieldPath",
            "is 'metadata.annotations', and the pod is rejected; write metadata.annotations['<key>']",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIp"}}}]},
            "WORKER-CONTAINER env 0 valueFrom fieldRef fieldPath",
            "is 'status.podIp', and the pod is rejected; did you mean status.podIP?",
        ),
    ],
    "host-alias": [
        (
            {"WORKER-POD hostAliases": [{"ip": "10.0.0.256", "hostnames": ["a"]}]},
            "WORKER-POD hostAliases 0 ip",
            "is '10.0.0.256', and the pod is rejected; give an IP address, such as 10.0.0.7",
        ),
    ],
    "missing-nameservers": [
        (
            {"WORKER-POD dnsPolicy": "None"},
            "WORKER-POD dnsConfig nameservers",
            "is missing with dnsPolicy: None, and the pod is rejected; give name servers, or omit dnsPolicy",
        ),
    ],
    "container-restart-policy": [
        (
            {"WORKER-POD initContainers": [{"name": "a", "image": "i:1", "restartPolicy": "Allways"}]},
            "WORKER-POD initContainers 0 restartPolicy",
            "is 'Allways', and the pod is rejected; write Always for a sidecar, or omit it",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "empty-container": [
        {},
        {"WORKER-POD initContainers": None},
    ],
    "missing-image": [
        {"WORKER-CONTAINER image": "$IMAGE"},
        {"WORKER-POD containers": [None]},
    ],
    "image-address": [
        {"WORKER-CONTAINER image": "gcr.io/PROJECT_ID/train:1"},
        {"WORKER-CONTAINER image": "us-east4-docker.pkg.dev/PROjECT/images/train:1"},
        {"WORKER-CONTAINER image": "${REGISTRY}/Image"},
        {"WORKER-CONTAINER image": "PLACEHOLDER"},
        {"WORKER-CONTAINER image": "yourRegistry/train:1"},
        {"WORKER-CONTAINER image": "registry.example.com/Team/train:1"},
        {"WORKER-CONTAINER image": "ACCOUNT.dkr.ecr.REGION.amazonaws.com/IMAGE:TAG"},
        {"WORKER-CONTAINER image": "ghcr.io/path/to/Image"},
        {"WORKER-CONTAINER image": "<image>"},
        {"WORKER-CONTAINER image": 7},
    ],
    "container-names": [
        # Another pod may have the same names.
        {"LAUNCHER-CONTAINER name": "worker"},
        {"WORKER-POD initContainers": [{"name": "wait", "image": "i"}]},
        {
            "WORKER-CONTAINER name": "PLACEHOLDER",
            "WORKER-POD initContainers": [{"name": "PLACEHOLDER", "image": "i"}],
        },
        {"WORKER-POD initContainers": [{"image": "i"}, {"image": "i"}]},
    ],
    "unknown-volume": [
        {},
        # Those of the operator.
        {
            "LAUNCHER-CONTAINER volumeMounts": [
                {"name": "mpi-job-config", "mountPath": "/hosts"},
                {"name": "ssh-auth", "mountPath": "/keys"},
            ]
        },
        {"WORKER-CONTAINER volumeMounts": [{"name": "$VOLUME", "mountPath": "/data"}]},
        {"WORKER-POD volumes": [{"name": "$VOLUME", "emptyDir": {}}]},
    ],
    "mount-paths": [
        {"WORKER-CONTAINER volumeMounts": [SHM, {"name": "shm", "mountPath": "/scratch"}]},
        {"WORKER-CONTAINER volumeMounts": [{"name": "shm"}, {"name": "shm"}]},
    ],
    "variable-name": [{"WORKER-CONTAINER env": [{"name": "a.b-C_1", "value": "x"}, {"name": "${NAME}", "value": "x"}]}],
    "value-and-source": [
        {
            "WORKER-CONTAINER env": [
                {"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
            ]
        },
    ],
    "pod-field": [
        {"WORKER-CONTAINER env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]}
        for path in ("metadata.name", "metadata.labels['app']", "status.podIP")
    ],
    "host-alias": [{"WORKER-POD hostAliases": [{"ip": "fd00::1", "hostnames": ["a"]}]}],
    "missing-nameservers": [{"WORKER-POD dnsPolicy": "None", "WORKER-POD dnsConfig": {"nameservers": ["10.0.0.2"]}}],
    "container-restart-policy": [
        {"WORKER-POD initContainers": [{"name": "a", "image": "i:1", "restartPolicy": "Always"}]},
    ],
}
