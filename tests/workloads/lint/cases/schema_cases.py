"""What the rules of `lint.rules.schema_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "mpi-job-fields": [
        ({"spec slotsPerWorker": "8"}, "spec slotsPerWorker", "is '8'; give a whole number"),
        (
            {"spec runPolicy cleanPodPolicy": "running"},
            "spec runPolicy cleanPodPolicy",
            "is 'running'; did you mean Running? known: All, None, Running",
        ),
        ({"spec runPolicy backoffLimit": -1}, "spec runPolicy backoffLimit", "is -1; give 0 or more"),
        ({"spec mpiReplicaSpecs": GONE}, "spec mpiReplicaSpecs", "is missing; add it"),
        ({"WORKER replicas": 2.5}, "WORKER replicas", "is 2.5; give a whole number"),
        ({"spec": "none"}, "spec", "is 'none'; give a mapping of names to values"),
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 2, "minResources": {"cpu": [1]}}},
            "spec runPolicy schedulingPolicy minResources cpu",
            "is a list; give a number or a text",
        ),
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 2, "minResources": {"cpu": "lots"}}},
            "spec runPolicy schedulingPolicy minResources cpu",
            "is 'lots', which is not an amount; give a number, or one such as 5120Mi",
        ),
        (
            {"spec runPolicy ttlSecondsAfterFinished": 8640000000},
            "spec runPolicy ttlSecondsAfterFinished",
            "is 8640000000; give a whole number from -2147483648 to 2147483647",
        ),
        (
            {"spec runPolicy activeDeadlineSeconds": 2**63},
            "spec runPolicy activeDeadlineSeconds",
            "is 9223372036854775808; give a whole number of 64 bits",
        ),
        ({"metadata name": 123}, "metadata name", "is 123; give a text, in quotes"),
        ({"metadata labels": {"team": 4711}}, "metadata labels team", "is 4711; give a text, in quotes"),
    ],
    "pod-template-fields": [
        (
            {"WORKER-CONTAINER env": [{"name": "A", "value": 1}]},
            "WORKER-CONTAINER env 0 value",
            "is 1; give a text, in quotes",
        ),
        ({"WORKER-CONTAINER name": GONE}, "WORKER-CONTAINER name", "is missing; add it"),
        (
            {"WORKER-CONTAINER securityContext": {"capabilities": {"add": "IPC_LOCK"}}},
            "WORKER-CONTAINER securityContext capabilities add",
            "is 'IPC_LOCK'; give a list",
        ),
        (
            {"WORKER-POD nodeSelector": ["gpu"]},
            "WORKER-POD nodeSelector",
            "is a list; give a mapping of names to values",
        ),
        (
            {"WORKER-CONTAINER readinessProbe tcpSocket port": [22]},
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is a list; give a number or a text",
        ),
        # A warning on the same field hides no error.
        ({"WORKER-POD tolerations": {"operator": "Exists"}}, "WORKER-POD tolerations", "is a mapping; give a list"),
        ({"LAUNCHER-POD restartPolicy": 5}, "LAUNCHER-POD restartPolicy", "is 5; give a text, in quotes"),
        (
            {"WORKER-POD volumes 0 emptyDir sizeLimit": "200GB"},
            "WORKER-POD volumes 0 emptyDir sizeLimit",
            "is '200GB', which is not an amount; give a number, or one such as 5120Mi",
        ),
        (
            {"WORKER template metadata annotations": {"karpenter.sh/do-not-disrupt": True}},
            "WORKER template metadata annotations karpenter.sh/do-not-disrupt",
            "is true; give a text, in quotes",
        ),
        (
            {"WORKER-POD imagePullSecrets": ["regcred"]},
            "WORKER-POD imagePullSecrets 0",
            "is 'regcred'; give a mapping of names to values",
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
