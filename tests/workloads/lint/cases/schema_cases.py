"""What the rules of `lint.rules.schema_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "mpi-job-fields": [
        (
            {"spec slotsPerWorker": "8"},
            "spec slotsPerWorker",
            "is '8', but the field takes a whole number; write 8 without quotes",
        ),
        (
            {"spec runPolicy cleanPodPolicy": "running"},
            "spec runPolicy cleanPodPolicy",
            "is 'running'; did you mean Running? known: All, None, Running",
        ),
        ({"spec runPolicy backoffLimit": -1}, "spec runPolicy backoffLimit", "is -1; give 0 or more"),
        ({"spec mpiReplicaSpecs": GONE}, "spec mpiReplicaSpecs", "is missing; add it"),
        (
            {"WORKER replicas": 2.5},
            "WORKER replicas",
            "is 2.5, but the field takes a whole number; give a whole number",
        ),
        ({"spec": "none"}, "spec", "is 'none', but the field takes a mapping; give a mapping of names to values"),
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 2, "minResources": {"cpu": [1]}}},
            "spec runPolicy schedulingPolicy minResources cpu",
            "is a list, but it is not an amount of Kubernetes; give one such as 4, 500m or 512Mi",
        ),
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 2, "minResources": {"cpu": "lots"}}},
            "spec runPolicy schedulingPolicy minResources cpu",
            "is 'lots', but it is not an amount of Kubernetes; give one such as 4, 500m or 512Mi",
        ),
        (
            {"spec runPolicy ttlSecondsAfterFinished": 8640000000},
            "spec runPolicy ttlSecondsAfterFinished",
            "is 8640000000, but the field has 32 bits; give a whole number from 0 to 2147483647",
        ),
        (
            {"spec runPolicy activeDeadlineSeconds": 2**63},
            "spec runPolicy activeDeadlineSeconds",
            "is 9223372036854775808, but the field has 64 bits; give a whole number from 0 to 9223372036",
        ),
        ({"metadata name": 123}, "metadata name", "is 123, but the field takes text; write it in quotes"),
        (
            {"metadata labels": {"team": 4711}},
            "metadata labels team",
            "is 4711, but the field takes text; write it in quotes",
        ),
    ],
    "pod-template-fields": [
        (
            {"WORKER-CONTAINER env": [{"name": "A", "value": 1}]},
            "WORKER-CONTAINER env 0 value",
            "is 1, but the field takes text; write it in quotes",
        ),
        ({"WORKER-CONTAINER name": GONE}, "WORKER-CONTAINER name", "is missing; add it"),
        (
            {"WORKER-CONTAINER securityContext": {"capabilities": {"add": "IPC_LOCK"}}},
            "WORKER-CONTAINER securityContext capabilities add",
            "is 'IPC_LOCK', but the field takes a list; give a list, such as ['IPC_LOCK']",
        ),
        (
            {"WORKER-POD nodeSelector": ["gpu"]},
            "WORKER-POD nodeSelector",
            "is a list, but the field takes a mapping; give a mapping of names to values",
        ),
        (
            {"WORKER-CONTAINER readinessProbe tcpSocket port": [22]},
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is a list, but the field takes a whole number or text; give a whole number or text",
        ),
        # A warning on the same field hides no error.
        (
            {"WORKER-POD tolerations": {"operator": "Exists"}},
            "WORKER-POD tolerations",
            "is a mapping, but the field takes a list; give a list",
        ),
        (
            {"LAUNCHER-POD restartPolicy": 5},
            "LAUNCHER-POD restartPolicy",
            "is 5, but the field takes text; write it in quotes",
        ),
        (
            {"WORKER-POD volumes 0 emptyDir sizeLimit": "200GB"},
            "WORKER-POD volumes 0 emptyDir sizeLimit",
            "is '200GB', but it is not an amount of Kubernetes; write 200G",
        ),
        (
            {"WORKER template metadata annotations": {"karpenter.sh/do-not-disrupt": True}},
            "WORKER template metadata annotations karpenter.sh/do-not-disrupt",
            "is true, but the field takes text; write it in quotes",
        ),
        (
            {"WORKER-POD imagePullSecrets": ["regcred"]},
            "WORKER-POD imagePullSecrets 0",
            "is 'regcred', but the field takes a mapping; give a mapping of names to values",
        ),
        (
            {"WORKER-CONTAINER resources limits nvidia.com/gpu": "8GPUs"},
            "WORKER-CONTAINER resources limits nvidia.com/gpu",
            "is '8GPUs', but it is not an amount of Kubernetes; give one such as 4, 500m or 512Mi",
        ),
        (
            {"WORKER-CONTAINER resources requests memory": "32 Gi"},
            "WORKER-CONTAINER resources requests memory",
            "is '32 Gi', but it is not an amount of Kubernetes; write 32Gi, without space",
        ),
    ],
    "unknown-field": [
        (
            {"spec slotPerWorker": 8, "spec slotsPerWorker": GONE},
            "spec slotPerWorker",
            "is not a field here, and is rejected or dropped without a warning; did you mean slotsPerWorker? known:"
            " launcherCreationPolicy, mpiImplementation, mpiReplicaSpecs, runLauncherAsWorker, runPolicy, "
            "slotsPerWorker, sshAuthMountPath",
        ),
        (
            {"spec runPolicy": GONE, "spec cleanPodPolicy": "Running"},
            "spec cleanPodPolicy",
            "is not a field here, and is rejected or dropped without a warning; move it to spec.runPolicy",
        ),
        (
            {"spec slotsPerWorker": GONE, "spec runPolicy slotsPerWorker": 8},
            "spec runPolicy slotsPerWorker",
            "is not a field here, and is rejected or dropped without a warning; move it to spec",
        ),
        (
            {"WORKER replicas": GONE, "WORKER-POD replicas": 2},
            "WORKER-POD replicas",
            "is not a field here, and is rejected or dropped without a warning; move it to spec.mpiReplicaSpecs.Worker",
        ),
        (
            {"WORKER-CONTAINER tolerations": [], "WORKER-POD tolerations": GONE},
            "WORKER-CONTAINER tolerations",
            "is not a field here, and is rejected or dropped without a warning; move it to "
            "spec.mpiReplicaSpecs.Worker.template.spec",
        ),
        (
            {"WORKER-CONTAINER volumeMount": []},
            "WORKER-CONTAINER volumeMount",
            "is not a field here, and is rejected or dropped without a warning; remove it",
        ),
        (
            {"WORKER-POD nodeSelecter": {"a": "b"}, "WORKER-POD nodeSelector": GONE},
            "WORKER-POD nodeSelecter",
            "is not a field here, and is rejected or dropped without a warning; did you mean nodeSelector?",
        ),
        (
            {"WORKER-POD volumes 0": {"name": "shm", "persistentVolumeClaim": {"name": "data"}}},
            "WORKER-POD volumes 0 persistentVolumeClaim name",
            "is not a field here, and is rejected or dropped without a warning; did you mean claimName? known: "
            "claimName, readOnly",
        ),
        (
            {"WORKER-POD wholly": 1},
            "WORKER-POD wholly",
            "is not a field here, and is rejected or dropped without a warning; remove it",
        ),
        (
            {"spec runPolicy": {None: 5, "cleanPodPolicy": "Running"}},
            "spec runPolicy null",
            "is not a field here, and is rejected or dropped without a warning; known: activeDeadlineSeconds, "
            "backoffLimit, cleanPodPolicy, managedBy, schedulingPolicy, suspend, ttlSecondsAfterFinished",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "mpi-job-fields": [
        {"spec runPolicy suspend": None},
        {"spec slotsPerWorker": "${GPUS}", "spec runPolicy cleanPodPolicy": "<policy>"},
        {"status": {"anything": 1}},
    ],
    "pod-template-fields": [
        {"WORKER-CONTAINER resources limits memory": "1e12"},
        {"WORKER-CONTAINER resources limits nvidia.com/gpu": "${GPUS}"},
        {"WORKER-CONTAINER resources limits memory": "MEMORY_OF_NODE"},
        {"WORKER-CONTAINER args": None},
        {"WORKER-CONTAINER ports": [{"containerPort": "PORT"}]},
        {"WORKER template metadata": {"creationTimestamp": None, "labels": {"a": "b"}}},
    ],
    "unknown-field": [
        {},
        {"spec runPolicy unknown": None},
        {"WORKER template metadata labels": {"any": "label"}},
        {"status": {"anything": 1}},
    ],
}
