"""What the rules of `lint.rules.probe_rules` find, and what they accept."""

from typing import Any

REMOVE = "remove it, or write restartPolicy: Always for a sidecar"
PROBE = {"tcpSocket": {"port": 22}}

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "unknown-port": [
        (
            {"WORKER-CONTAINER readinessProbe tcpSocket port": "ssh"},
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is 'ssh', which is no port of this container: the probe always fails; give the port's number",
        ),
        (
            {
                "WORKER-CONTAINER readinessProbe tcpSocket port": "shh",
                "WORKER-CONTAINER ports": [{"name": "ssh", "containerPort": 22}],
            },
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is 'shh', which is no port of this container: the probe always fails; name one of ssh, or give its number",
        ),
    ],
    "success-threshold": [
        (
            {"WORKER-CONTAINER livenessProbe": {**PROBE, "successThreshold": 2}},
            "WORKER-CONTAINER livenessProbe successThreshold",
            "is 2, and the pod is rejected; write 1, or omit it",
        ),
    ],
    "probe-of-init-container": [
        (
            {"WORKER-POD initContainers": [{"name": "wait", "image": "i:1", "readinessProbe": PROBE}]},
            "WORKER-POD initContainers 0 readinessProbe",
            "is not for an init container, which ends before the others start, and the pod is rejected; " + REMOVE,
        ),
    ],
    "host-port": [
        (
            {
                "WORKER-POD hostNetwork": True,
                "WORKER-CONTAINER ports": [{"containerPort": 22, "hostPort": 2222}],
            },
            "WORKER-CONTAINER ports 0 hostPort",
            "is 2222 with hostNetwork: true, but containerPort is 22, and the pod is rejected; omit hostPort",
        ),
    ],
    "host-port-taken": [
        (
            {
                "WORKER-CONTAINER ports": [
                    {"containerPort": 22, "hostPort": 2222},
                    {"containerPort": 23, "hostPort": 2222},
                ],
            },
            "WORKER-CONTAINER ports 1 hostPort",
            "is 2222, as another port of this pod, and the pod is rejected; give each another, or omit it",
        ),
    ],
    "empty-command": [
        (
            {"WORKER-CONTAINER lifecycle": {"preStop": {"exec": {"command": []}}}},
            "WORKER-CONTAINER lifecycle preStop exec command",
            "has no words, and the pod is rejected; give the command",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "unknown-port": [
        {
            "WORKER-CONTAINER readinessProbe tcpSocket port": "ssh",
            "WORKER-CONTAINER ports": [{"name": "ssh", "containerPort": 22}],
        },
        {"WORKER-CONTAINER readinessProbe tcpSocket port": "$PORT"},
    ],
    "success-threshold": [{"WORKER-CONTAINER readinessProbe successThreshold": 2}],
    "probe-of-init-container": [
        {
            "WORKER-POD initContainers": [
                {"name": "proxy", "image": "i:1", "restartPolicy": "Always", "readinessProbe": PROBE}
            ]
        },
    ],
    "host-port": [
        {"WORKER-POD hostNetwork": True, "WORKER-CONTAINER ports": [{"containerPort": 22, "hostPort": 22}]},
        {"WORKER-CONTAINER ports": [{"containerPort": 22, "hostPort": 2222}]},
    ],
    "host-port-taken": [
        {"WORKER-CONTAINER ports": [{"containerPort": 22}, {"containerPort": 23}]},
        {
            "WORKER-CONTAINER ports": [
                {"containerPort": 22, "hostPort": 2222},
                {"containerPort": 23, "hostPort": 2222, "protocol": "UDP"},
            ],
        },
    ],
    "empty-command": [{"WORKER-CONTAINER livenessProbe": {"exec": {"command": ["true"]}}}],
}
