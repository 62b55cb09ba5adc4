"""What the rules of `lint.rules.name_rules` and `lint.rules.metadata_rules` find, and what they accept."""

from typing import Any

SHM = {"name": "shm", "emptyDir": {"medium": "Memory"}}
LABEL = "use lower-case letters, digits and '-', at most 63"
SUBDOMAIN = "use lower-case letters, digits, '-' and '.', at most 253"
SERVICE = "use lower-case letters, digits and single '-', at most 15, with a letter"
VALUE = "use letters, digits, '-', '_' and '.', at most 63, letters or digits at the ends"

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "names": [
        (
            {"WORKER-CONTAINER name": "worker_0"},
            "WORKER-CONTAINER name",
            f"is 'worker_0', and the pod is rejected; {LABEL}",
        ),
        (
            {"LAUNCHER-POD volumes": [{"name": "", "emptyDir": {}}]},
            "LAUNCHER-POD volumes 0 name",
            f"is empty, and the pod is rejected; {LABEL}",
        ),
        (
            {"WORKER-CONTAINER ports": [{"name": "secure-shell-port", "containerPort": 22}]},
            "WORKER-CONTAINER ports 0 name",
            f"is 'secure-shell-port', and the pod is rejected; {SERVICE}",
        ),
        (
            {"WORKER-CONTAINER readinessProbe tcpSocket port": "22"},
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is '22', and the pod is rejected; write 22 without quotes",
        ),
        (
            {"WORKER-POD serviceAccountName": "Trainer_SA"},
            "WORKER-POD serviceAccountName",
            f"is 'Trainer_SA', and the pod is rejected; {SUBDOMAIN}",
        ),
    ],
    "duplicate-names": [
        (
            {"WORKER-POD volumes": [SHM, {"name": "shm", "hostPath": {"path": "/data"}}]},
            "WORKER-POD volumes 1 name",
            "is 'shm', as another name of a volume of this pod, and the pod is rejected; give each another name",
        ),
        (
            {"WORKER-CONTAINER ports": [{"name": "a", "containerPort": 22}, {"name": "a", "containerPort": 23}]},
            "WORKER-CONTAINER ports 1 name",
            "is 'a', as another name of a port of this pod, and the pod is rejected; give each another name",
        ),
    ],
    "variable-set-twice": [
        (
            {"WORKER-CONTAINER env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
            "WORKER-CONTAINER env 1 name",
            "is 'A', which this list has already; keep one of them",
        ),
    ],
    "labels": [
        (
            {"metadata labels": {"team": "ML platform"}},
            "metadata labels team",
            f"is 'ML platform', and is rejected; {VALUE}",
        ),
        (
            {"WORKER-POD nodeSelector": {"nvidia.com/gpu.product": "NVIDIA H100 80GB HBM3"}},
            "WORKER-POD nodeSelector nvidia.com/gpu.product",
            f"is 'NVIDIA H100 80GB HBM3', and is rejected; {VALUE}",
        ),
        (
            {"WORKER template metadata labels": {"a/b/c": "x", "fine": "y" * 64}},
            "WORKER template metadata labels a/b/c",
            "is no key of a label, and is rejected; write it as name or domain/name",
            "WORKER template metadata labels fine",
            f"is '{'y' * 64}', and is rejected; {VALUE}",
        ),
    ],
    "annotations": [
        (
            {"metadata annotations": {"my/own/note": "x"}},
            "metadata annotations my/own/note",
            "is no key of an annotation, and is rejected; write it as name or domain/name",
        ),
    ],
    "object-names": [
        (
            {"metadata namespace": "Team_A"},
            "metadata namespace",
            f"is 'Team_A', and is rejected; {LABEL}",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "names": [
        {"WORKER-CONTAINER name": "${NAME}"},
        {"WORKER-CONTAINER name": "PLACEHOLDER"},
        {"WORKER-CONTAINER name": "train_CHANGE-ME"},
        {"WORKER-POD serviceAccountName": "SERVICE_ACCOUNT"},
        {"WORKER-CONTAINER ports": [{"name": "ssh-2", "containerPort": 22}]},
        {"WORKER-POD priorityClassName": "high.priority"},
        {"WORKER-CONTAINER readinessProbe tcpSocket port": 22},
    ],
    "duplicate-names": [
        {"WORKER-POD volumes": [SHM, {"name": "data", "emptyDir": {}}]},
        {"WORKER-CONTAINER ports": [{"containerPort": 22}, {"containerPort": 23}]},
    ],
    "variable-set-twice": [
        {"WORKER-CONTAINER env": [{"name": "A", "value": "1"}, {"name": "A", "value": "1"}]},
        {"WORKER-CONTAINER env": [{"name": "A", "value": "1"}, {"name": "a", "value": "2"}]},
    ],
    "labels": [
        {"metadata labels": {"a": "", "kueue.x-k8s.io/priority-class": "High_1.0"}},
        {"metadata labels": {"team": "${TEAM NAME}"}},
        {"metadata labels": None},
    ],
    "annotations": [
        {"metadata annotations": {"karpenter.sh/do-not-disrupt": "true", "Example.com/Note": "any text at all"}},
    ],
    "object-names": [
        {"metadata namespace": "team-a"},
        {"metadata namespace": "$NAMESPACE"},
        {"metadata namespace": "YOUR_TEAM"},
        {"metadata namespace": "NAMESPACE"},
    ],
}
