"""What the rules of `lint.rules.scheduling_rules` and `lint.rules.security_rules` find, and what they accept."""

from typing import Any

TERMS = "WORKER-POD affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms"


def expression(operator: str, *values: str) -> dict[str, Any]:
    """A node affinity with one expression."""
    given = {"key": "a", "operator": operator} | ({"values": list(values)} if values else {})
    return {TERMS: [{"matchExpressions": [given]}]}


def spread(**fields: Any) -> dict[str, Any]:
    """A spread constraint."""
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}


#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "toleration": [
        (
            {"WORKER-POD tolerations": [{"key": "gpu", "operator": "Exists", "value": "true"}]},
            "WORKER-POD tolerations 0 value",
            "is given with the operator Exists, and the pod is rejected; omit the value, or write operator: Equal",
        ),
        (
            {"WORKER-POD tolerations": [{"effect": "NoSchedule"}]},
            "WORKER-POD tolerations 0",
            "has no key, which only the operator Exists may lack, and the pod is rejected; give the taint's key, or "
            "write operator: Exists for every taint",
        ),
        (
            {"WORKER-POD tolerations": [{"operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]},
            "WORKER-POD tolerations 0 tolerationSeconds",
            "is given without the effect NoExecute, and the pod is rejected; omit it, or write effect: NoExecute",
        ),
    ],
    "affinity-expression": [
        (
            expression("NotEquals", "b"),
            f"{TERMS} 0 matchExpressions 0 operator",
            "is 'NotEquals', and the pod is rejected; known: DoesNotExist, Exists, Gt, In, Lt, NotIn",
        ),
        (
            expression("Exists", "true"),
            f"{TERMS} 0 matchExpressions 0 values",
            "has values, which Exists does not take, and the pod is rejected; omit the values, or write operator: In",
        ),
        (
            expression("In"),
            f"{TERMS} 0 matchExpressions 0 values",
            "is empty, which In does not take, and the pod is rejected; give one value or more",
        ),
        (
            expression("Gt", "1", "2"),
            f"{TERMS} 0 matchExpressions 0 values",
            "has 2 values for Gt, and the pod is rejected; give one whole number, in quotes",
        ),
    ],
    "affinity-value": [
        (
            expression("In", "NVIDIA H100 80GB"),
            f"{TERMS} 0 matchExpressions 0 values 0",
            "is 'NVIDIA H100 80GB', which no label of a node can be, and the pod is rejected; use letters, digits, "
            "'-', '_' and '.', at most 63, letters or digits at the ends",
        ),
    ],
    "empty-node-terms": [
        ({TERMS: []}, TERMS, "is empty, and the pod is rejected; give a term, or remove it"),
    ],
    "spread-constraint": [
        (
            {"WORKER-POD topologySpreadConstraints": [spread(), spread(maxSkew=2)]},
            "WORKER-POD topologySpreadConstraints 1",
            "is a second one for zone with DoNotSchedule, and the pod is rejected; keep one of them",
        ),
        (
            {"WORKER-POD topologySpreadConstraints": [spread(whenUnsatisfiable="ScheduleAnyway", minDomains=2)]},
            "WORKER-POD topologySpreadConstraints 0 minDomains",
            "is for whenUnsatisfiable: DoNotSchedule only, and the pod is rejected; omit it, or write "
            "whenUnsatisfiable: DoNotSchedule",
        ),
    ],
    "root-not-allowed": [
        (
            {"WORKER-POD securityContext": {"runAsNonRoot": True, "runAsUser": 0}},
            "WORKER-POD securityContext runAsUser",
            "is 0 with runAsNonRoot: true, and the container does not start; give another user, or remove runAsNonRoot",
        ),
        (
            {
                "WORKER-POD securityContext": {"runAsNonRoot": True, "runAsUser": 1000},
                "WORKER-CONTAINER securityContext": {"runAsUser": 0},
            },
            "WORKER-CONTAINER securityContext runAsUser",
            "is 0 with runAsNonRoot: true, and the container does not start; give another user, or remove runAsNonRoot",
        ),
        # The pod's user counts for two containers, and a third has its own.
        (
            {
                "WORKER-POD securityContext": {"runAsNonRoot": True, "runAsUser": 0},
                "WORKER-POD containers 1": {"name": "b", "image": "b:1"},
                "WORKER-POD containers 2": {"name": "c", "image": "c:1", "securityContext": {"runAsUser": 0}},
            },
            "WORKER-POD securityContext runAsUser",
            "is 0 with runAsNonRoot: true, and the container does not start; give another user, or remove runAsNonRoot",
            "WORKER-POD containers 2 securityContext runAsUser",
            "is 0 with runAsNonRoot: true, and the container does not start; give another user, or remove runAsNonRoot",
        ),
    ],
    "escalation-not-allowed": [
        (
            {"WORKER-CONTAINER securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
            "WORKER-CONTAINER securityContext allowPrivilegeEscalation",
            "is false with privileged: true, and the pod is rejected; omit it, or the privileges",
        ),
    ],
    "profile-file": [
        (
            {"WORKER-POD securityContext": {"seccompProfile": {"type": "Localhost"}}},
            "WORKER-POD securityContext seccompProfile localhostProfile",
            "is missing, and the pod is rejected; give the profile's file, or another type",
        ),
        (
            {"WORKER-POD securityContext": {"seccompProfile": {"type": "Unconfined", "localhostProfile": "a.json"}}},
            "WORKER-POD securityContext seccompProfile localhostProfile",
            "is given with the type Unconfined, and the pod is rejected; omit it, or write type: Localhost",
        ),
    ],
    "mount-propagation": [
        (
            {"WORKER-CONTAINER volumeMounts 0 mountPropagation": "Bidirectional"},
            "WORKER-CONTAINER volumeMounts 0 mountPropagation",
            "is Bidirectional in a container that is not privileged, and the pod is rejected; write HostToContainer",
        ),
    ],
    "shared-processes": [
        (
            {"WORKER-POD shareProcessNamespace": True, "WORKER-POD hostPID": True},
            "WORKER-POD shareProcessNamespace",
            "is true with hostPID: true, and the pod is rejected; keep one of them",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "toleration": [
        {"WORKER-POD tolerations": [{"operator": "Exists"}]},
        {"WORKER-POD tolerations": [{"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 5}]},
        {"WORKER-POD tolerations": [{"key": "a", "operator": "Exists", "value": ""}]},
    ],
    "affinity-expression": [expression("In", "b"), expression("Exists"), expression("Lt", "8"), expression("$OP")],
    "affinity-value": [expression("In", "NVIDIA-H100-80GB"), expression("In", "${TYPE}")],
    "empty-node-terms": [expression("Exists")],
    "spread-constraint": [
        {"WORKER-POD topologySpreadConstraints": [spread(), spread(topologyKey="host")]},
        {"WORKER-POD topologySpreadConstraints": [spread(minDomains=2)]},
    ],
    "root-not-allowed": [
        {"WORKER-POD securityContext": {"runAsNonRoot": False, "runAsUser": 0}},
        {
            "WORKER-POD securityContext": {"runAsNonRoot": True, "runAsUser": 0},
            "WORKER-CONTAINER securityContext": {"runAsUser": 1000},
        },
    ],
    "escalation-not-allowed": [
        {"WORKER-CONTAINER securityContext": {"privileged": True}},
        {"WORKER-CONTAINER securityContext": {"allowPrivilegeEscalation": False}},
    ],
    "profile-file": [
        {"WORKER-POD securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}},
        {"WORKER-POD securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
    ],
    "mount-propagation": [
        {
            "WORKER-CONTAINER volumeMounts 0 mountPropagation": "Bidirectional",
            "WORKER-CONTAINER securityContext": {"privileged": True},
        },
    ],
    "shared-processes": [{"WORKER-POD shareProcessNamespace": True}],
}
