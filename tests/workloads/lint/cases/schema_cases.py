"""What the rules of `lint.rules.schema_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "mpi-job-fields": [
        (
            {"spec slotPerWorker": 8},
            "spec slotPerWorker",
            "is not a field here, and is rejected or dropped without a warning; did you mean slotsPerWorker? known:"
            " launcherCreationPolicy, mpiImplementation, mpiReplicaSpecs, runLauncherAsWorker, runPolicy, "
            "slotsPerWorker, sshAuthMountPath",
        ),
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
            {"spec runPolicy": {None: 5}},
            "spec runPolicy null",
            "is not a field here, and is rejected or dropped without a warning; known: activeDeadlineSeconds, "
            "backoffLimit, cleanPodPolicy, managedBy, schedulingPolicy, suspend, ttlSecondsAfterFinished",
        ),
        (
            {"spec runPolicy": {"schedulingPolicy": {"minResources": {"cpu": "lots"}}}},
            "spec runPolicy schedulingPolicy minResources cpu",
            "is 'lots'; give an amount such as 4, 500m or 512Mi",
        ),
    ],
    "pod-template-fields": [
        (
            {"WORKER-CONTAINER volumeMount": []},
            "WORKER-CONTAINER volumeMount",
            "is not a field here, and is rejected or dropped without a warning; did you mean volumeMounts?",
        ),
        (
            {"WORKER-CONTAINER env": [{"name": "A", "value": 1}]},
            "WORKER-CONTAINER env 0 value",
            "is 1; give a text, in quotes",
        ),
        ({"WORKER-CONTAINER name": GONE}, "WORKER-CONTAINER name", "is missing; add it"),
        (
            {"WORKER-POD tolerationz": []},
            "WORKER-POD tolerationz",
            "is not a field here, and is rejected or dropped without a warning; did you mean tolerations?",
        ),
        (
            {"WORKER-POD volumes 0": {"name": "shm", "emptyDirs": {}}},
            "WORKER-POD volumes 0 emptyDirs",
            "is not a field here, and is rejected or dropped without a warning; did you mean emptyDir?",
        ),
        (
            {"WORKER-POD nodeSelector": ["gpu"]},
            "WORKER-POD nodeSelector",
            "is a list; give a mapping of names to values",
        ),
        (
            {"WORKER-POD wholly": 1},
            "WORKER-POD wholly",
            "is not a field here, and is rejected or dropped without a warning; remove it",
        ),
        (
            {"WORKER-CONTAINER readinessProbe tcpSocket port": [22]},
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is a list; give a number or a text",
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
        {"WORKER template metadata": {"creationTimestamp": None, "labels": {"a": "b"}}},
    ],
}
