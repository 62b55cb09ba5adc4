"""What the rules of `lint.rules.value_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE

CONF = {"name": "conf", "configMap": {"name": "conf"}}
HANDLERS = "give exactly one of them"

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "unknown-word": [
        (
            {"WORKER-CONTAINER imagePullPolicy": "ifNotPresent"},
            "WORKER-CONTAINER imagePullPolicy",
            "is 'ifNotPresent', and the pod is rejected; did you mean IfNotPresent? known: Always, IfNotPresent, Never",
        ),
        (
            {"WORKER-POD volumes": [{"name": "shm", "hostPath": {"path": "/mnt", "type": "Dir"}}]},
            "WORKER-POD volumes 0 hostPath type",
            "is 'Dir', and the pod is rejected; known: BlockDevice, CharDevice, Directory, DirectoryOrCreate, "
            "File, FileOrCreate, Socket",
        ),
        (
            {"WORKER-POD securityContext": {"seccompProfile": {"type": "runtime/default"}}},
            "WORKER-POD securityContext seccompProfile type",
            "is 'runtime/default', and the pod is rejected; did you mean RuntimeDefault? known: Localhost, "
            "RuntimeDefault, Unconfined",
        ),
        (
            {"WORKER-POD tolerations 0 effect": "NoScheduling"},
            "WORKER-POD tolerations 0 effect",
            "is 'NoScheduling', and the pod is rejected; did you mean NoSchedule? known: NoExecute, NoSchedule, "
            "PreferNoSchedule",
        ),
        (
            {"WORKER-POD volumes 0 emptyDir medium": "memory"},
            "WORKER-POD volumes 0 emptyDir medium",
            "is 'memory', and the pod is rejected; did you mean Memory? known: HugePages, HugePages-1Gi, "
            "HugePages-2Mi, "
            "Memory",
        ),
    ],
    "number-out-of-range": [
        (
            {"WORKER-CONTAINER ports": [{"containerPort": 65536}]},
            "WORKER-CONTAINER ports 0 containerPort",
            "is 65536, and the pod is rejected; give 1 or more, 65535 at most",
        ),
        (
            {"WORKER-POD volumes": [{"name": "shm", "configMap": {"name": "conf", "defaultMode": 755}}]},
            "WORKER-POD volumes 0 configMap defaultMode",
            "is 755 (01363 in octal), and the pod is rejected; write it in octal with a leading zero, 0000 to 0777",
        ),
        (
            {"WORKER-POD activeDeadlineSeconds": 0},
            "WORKER-POD activeDeadlineSeconds",
            "is 0, and the pod is rejected; give 1 or more, 2147483647 at most",
        ),
        (
            {"WORKER-CONTAINER readinessProbe periodSeconds": -1},
            "WORKER-CONTAINER readinessProbe periodSeconds",
            "is -1, and the pod is rejected; give 0 or more",
        ),
        (
            {"WORKER-POD terminationGracePeriodSeconds": -5},
            "WORKER-POD terminationGracePeriodSeconds",
            "is -5, and the pod is rejected; give 0 or more",
        ),
    ],
    "one-of-several": [
        (
            {"WORKER-CONTAINER readinessProbe exec": {"command": ["true"]}},
            "WORKER-CONTAINER readinessProbe",
            f"has exec and tcpSocket, and the pod is rejected; {HANDLERS}",
        ),
        (
            {"WORKER-CONTAINER readinessProbe": {"periodSeconds": 5}},
            "WORKER-CONTAINER readinessProbe",
            f"has none of exec, httpGet, tcpSocket, grpc, and the pod is rejected; {HANDLERS}",
        ),
        (
            {"WORKER-CONTAINER envFrom": [{"prefix": "A_"}]},
            "WORKER-CONTAINER envFrom 0",
            f"has none of configMapRef, secretRef, and the pod is rejected; {HANDLERS}",
        ),
    ],
    "volume-sources": [
        (
            {"WORKER-POD volumes 0 hostPath": {"path": "/dev/shm"}},
            "WORKER-POD volumes 0",
            "has emptyDir and hostPath as its source, and the pod is rejected; give each volume one source",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "unknown-word": [
        {"WORKER-CONTAINER imagePullPolicy": "${POLICY}"},
        {"WORKER-POD tolerations 0 effect": ""},
        {"WORKER-POD dnsPolicy": "ClusterFirstWithHostNet", "WORKER-POD hostNetwork": True},
        {"WORKER-POD volumes": [{"name": "shm", "hostPath": {"path": "/mnt", "type": ""}}]},
    ],
    "number-out-of-range": [
        {"WORKER-POD volumes": [{"name": "shm", "secret": {"secretName": "keys", "defaultMode": 0o600}}]},
        {"WORKER-POD terminationGracePeriodSeconds": 0},
        {"WORKER-CONTAINER readinessProbe failureThreshold": 0},
        {"WORKER-CONTAINER ports": [{"containerPort": "$PORT"}]},
    ],
    "one-of-several": [
        {"WORKER-CONTAINER readinessProbe": {"httpGet": None, "tcpSocket": {"port": 22}}},
        {"WORKER-CONTAINER lifecycle": {"preStop": {"exec": {"command": ["sync"]}}}},
        {"WORKER-CONTAINER readinessProbe": GONE},
    ],
    "volume-sources": [
        {"WORKER-POD volumes 0": {"name": "shm", "emptyDir": None}},
        {"WORKER-POD volumes": [CONF | {"name": "shm"}]},
    ],
}
