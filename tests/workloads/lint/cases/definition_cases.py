"""What the rules of `lint.rules.definition_rules` find, and what they accept."""

from typing import Any

QUEUE = {"metadata labels": {"kueue.x-k8s.io/queue-name": "gpu"}}
NEVER = "is missing: on a cluster whose definition of MPIJobs has no defaults Kueue never starts the job; write "


def sources(count: int) -> dict[str, Any]:
    return {"WORKER-CONTAINER envFrom": [{"configMapRef": {"name": f"a{number}"}} for number in range(count)]}


#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "queued-job-omits-default": [
        (
            {**QUEUE, "WORKER-CONTAINER ports": [{"containerPort": 22, "name": "ssh"}]},
            "WORKER-CONTAINER ports 0 protocol",
            f"{NEVER}protocol: TCP",
        ),
        (
            {**QUEUE, "LAUNCHER-CONTAINER ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81}]},
            "LAUNCHER-CONTAINER ports 1 protocol",
            f"{NEVER}protocol: TCP",
        ),
        (
            {**QUEUE, "WORKER-CONTAINER ports": [{"containerPort": 22, "protocol": None}]},
            "WORKER-CONTAINER ports 0 protocol",
            f"{NEVER}protocol: TCP",
        ),
        (
            {**QUEUE, "WORKER-CONTAINER livenessProbe": {"grpc": {"port": 5000}}},
            "WORKER-CONTAINER livenessProbe grpc service",
            f'{NEVER}service: ""',
        ),
        (
            {
                **QUEUE,
                "WORKER-POD volumes": [
                    {"name": "shm", "emptyDir": {"medium": "Memory"}},
                    {"name": "disk", "azureDisk": {"diskName": "a", "diskURI": "b", "fsType": "ext4"}},
                ],
            },
            "WORKER-POD volumes 1 azureDisk readOnly",
            f"{NEVER}readOnly: false",
        ),
    ],
    "pod-template-bounds": [
        (
            sources(1001),
            "WORKER-CONTAINER envFrom",
            "is a list, but it has 1001 entries, and the MPI operator keeps a copy for each worker in memory; "
            "give 1000 entries or fewer",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "A", "value": "x" * 131_073}]},
            "WORKER-CONTAINER env 0 value",
            "is a long text, but it has 131073 characters, and Linux gives a process no longer text; "
            "give 131072 characters or fewer",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "queued-job-omits-default": [
        {"WORKER-CONTAINER ports": [{"containerPort": 22, "name": "ssh"}]},
        {**QUEUE, "WORKER-CONTAINER ports": [{"containerPort": 22, "name": "ssh", "protocol": "TCP"}]},
        {**QUEUE, "WORKER-CONTAINER ports": "22"},
        # A probe without gRPC has no service.
        {**QUEUE, "WORKER-CONTAINER livenessProbe": {"tcpSocket": {"port": 22}}},
    ],
    "pod-template-bounds": [
        sources(1000),
        {"WORKER-CONTAINER env": [{"name": "A", "value": "x" * 131_072}]},
        {"WORKER-CONTAINER args": ["-o", "A=1"] * 500},
    ],
}
