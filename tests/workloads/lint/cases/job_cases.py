"""What the rules of `lint.rules.job_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import ELASTIC, GONE, both, launched, ranks, script, variables

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "api-version": [
        (
            {"apiVersion": "kubeflow.org/v1"},
            "apiVersion",
            "is 'kubeflow.org/v1', which the MPI operator v2 does not read; write kubeflow.org/v2beta1 and that "
            "version's fields",
        ),
        ({"apiVersion": GONE}, "apiVersion", "is missing; write kubeflow.org/v2beta1 and that version's fields"),
    ],
    "job-name": [
        (
            {"metadata name": "Job_1"},
            "metadata name",
            "is 'Job_1', from which the operator cannot name its pods; use lower-case letters, digits and '-', "
            "a letter first",
        ),
        (
            {"metadata name": "1job"},
            "metadata name",
            "is '1job', from which the operator cannot name its pods; use lower-case letters, digits and '-', a"
            " letter first",
        ),
        (
            {"metadata name": "n" * 55},
            "metadata name",
            "has 55 characters, and with '-worker-1' after it a pod's name has more than 63; use 54 characters "
            "or fewer",
        ),
        (
            {"metadata name": GONE},
            "metadata name",
            "is missing, and the API server rejects the job; give a name, or generateName",
        ),
        (
            {"metadata": GONE},
            "metadata name",
            "is missing, and the API server rejects the job; give a name, or generateName",
        ),
        (
            {"metadata name": "n" * 54, "WORKER replicas": 11, **ranks(88)},
            "metadata name",
            "has 54 characters, and with '-worker-10' after it a pod's name has more than 63; use 53 characters"
            " or fewer",
        ),
    ],
    "slots-per-worker": [
        (
            {"spec slotsPerWorker": 0},
            "spec slotsPerWorker",
            "is 0, and workers without slots get no ranks; give 1 or more: one for each GPU of a worker",
        ),
        (
            {"spec slotsPerWorker": -1},
            "spec slotsPerWorker",
            "is -1, which the operator rejects; give 1 or more: one for each GPU of a worker",
        ),
    ],
    "missing-launcher": [
        ({"LAUNCHER": GONE}, "LAUNCHER", "is missing, and nothing starts the ranks; add a Launcher that runs mpirun"),
        ({"LAUNCHER": None}, "LAUNCHER", "is missing, and nothing starts the ranks; add a Launcher that runs mpirun"),
    ],
    "missing-workers": [
        ({"WORKER": GONE}, "WORKER", "is missing, and the hostfile is empty; add a Worker with 1 replica or more"),
    ],
    "worker-replicas": [
        ({"WORKER replicas": GONE}, "WORKER replicas", "is missing, and the operator's default is 0; give 1 or more"),
        ({"WORKER replicas": 0}, "WORKER replicas", "is 0, which the operator rejects; give 1 or more"),
        ({"WORKER replicas": -1}, "WORKER replicas", "is -1, which the operator rejects; give 1 or more"),
    ],
    "launcher-replicas": [
        (
            {"LAUNCHER replicas": 2},
            "LAUNCHER replicas",
            "is 2, but an MPIJob has one launcher; give 1, or omit it",
        ),
        (
            {"LAUNCHER replicas": 0},
            "LAUNCHER replicas",
            "is 0, but an MPIJob has one launcher; give 1, or omit it",
        ),
    ],
    "missing-containers": [
        (
            {"WORKER-POD containers": []},
            "WORKER-POD containers",
            "the Worker's pod has none, which the operator rejects; add a container",
        ),
        (
            {"LAUNCHER template": GONE},
            "LAUNCHER-POD containers",
            "the Launcher's pod has none, which the operator rejects; add a container",
        ),
    ],
    "restart-policy": [
        (
            {"WORKER restartPolicy": "Always"},
            "WORKER restartPolicy",
            "is 'Always', which the operator rejects; write Never or OnFailure",
        ),
        (
            {"LAUNCHER restartPolicy": "ExitCode"},
            "LAUNCHER restartPolicy",
            "is 'ExitCode', which the operator rejects; write Never or OnFailure",
        ),
    ],
    "launcher-creation-policy": [
        (
            {"spec launcherCreationPolicy": "WaitForWorkers"},
            "spec launcherCreationPolicy",
            "is 'WaitForWorkers', which has the effect of WaitForWorkersReady; did you mean "
            "WaitForWorkersReady? known: AtStartup, WaitForWorkersReady",
        ),
    ],
    "gang-deadlock": [
        (
            {"spec runPolicy schedulingPolicy": {"queue": "q"}},
            "spec runPolicy schedulingPolicy minAvailable",
            "is missing, and the operator's default is workers + 1: the gang waits for the launcher, and the launcher "
            "for the gang's 2 workers; write minAvailable: 2",
        ),
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 3}},
            "spec runPolicy schedulingPolicy minAvailable",
            "is 3: the gang waits for the launcher, and the launcher for the gang's 2 workers; write minAvailable: 2",
        ),
    ],
    "workers-outlive-job": [
        (
            {"spec runPolicy": GONE},
            "spec runPolicy cleanPodPolicy",
            "is missing, and the operator's default is None: the workers keep running after the job's end and hold "
            "their GPUs; write cleanPodPolicy: Running",
        ),
        (
            {"spec runPolicy cleanPodPolicy": "None"},
            "spec runPolicy cleanPodPolicy",
            "is None: the workers keep running after the job's end and hold their GPUs; write cleanPodPolicy: Running",
        ),
        (
            {"spec runPolicy cleanPodPolicy": GONE, **both("nvidia.com/gpu", GONE)},
            "spec runPolicy cleanPodPolicy",
            "is missing, and the operator's default is None: the workers keep running after the job's end and hold "
            "their nodes; write cleanPodPolicy: Running",
        ),
    ],
    "suspended-launcher-does-not-wait": [
        (
            {"metadata labels": {"kueue.x-k8s.io/queue-name": "research"}, "spec runPolicy backoffLimit": 1},
            "spec launcherCreationPolicy",
            "has no effect on a job that was suspended: its launcher starts before its workers; let the launcher's "
            "command wait until the workers' names and sshd answer",
        ),
    ],
    "launcher-may-be-too-early": [
        (
            {"spec launcherCreationPolicy": GONE, "spec runPolicy backoffLimit": 3},
            "spec launcherCreationPolicy",
            "the launcher starts with the workers and gives up after 70 s of retries, before a GPU node "
            "starts; write launcherCreationPolicy: WaitForWorkersReady, and give the workers a "
            "readinessProbe",
        ),
        (
            {
                "spec launcherCreationPolicy": "AtStartup",
                "spec runPolicy backoffLimit": 0,
                **script("mpirun -np 16 train"),
            },
            "spec launcherCreationPolicy",
            "the launcher starts with the workers and gives up after 0 s of retries, before a GPU node "
            "starts; write launcherCreationPolicy: WaitForWorkersReady, and give the workers a "
            "readinessProbe",
        ),
    ],
    "no-session-folder": [
        (
            {"LAUNCHER-CONTAINER securityContext": {"readOnlyRootFilesystem": True}},
            "LAUNCHER-CONTAINER securityContext readOnlyRootFilesystem",
            "is true, and /tmp is not writable, where Open MPI keeps its files; mount an emptyDir at /tmp",
        ),
    ],
    "launcher-lacks-gpus": [
        (
            {"spec runLauncherAsWorker": True},
            "spec runLauncherAsWorker",
            "is true, but the launcher requests no nvidia.com/gpu, and 8 ranks start there; remove it, or "
            "give the launcher the workers' resources",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "api-version": [
        {},
        # Another project's kind of this name.
        {"apiVersion": "ai.example.com/v1", "spec": {"replicas": 2}},
        # The training operator's.
        {
            "apiVersion": "kubeflow.org/v1",
            "spec sshAuthMountPath": GONE,
            "spec launcherCreationPolicy": GONE,
        },
    ],
    "job-name": [
        {"metadata name": "n" * 54},
        {"metadata": {"generateName": "job-"}},
        {"metadata name": "a"},
        {"metadata name": "PLACEHOLDER"},
        {"metadata name": "nccl-USER"},
        {"metadata name": "JOB_NAME"},
    ],
    "slots-per-worker": [
        {},
        {"spec slotsPerWorker": GONE},
        {"spec slotsPerWorker": "$N"},
        {"spec slotsPerWorker": 0, **launched(*ELASTIC)},
    ],
    "missing-launcher": [
        {},
    ],
    "missing-workers": [
        {"WORKER": GONE, "spec runLauncherAsWorker": True},
        {"WORKER": GONE, **launched("mpirun", "-np", "1", "python", "train.py")},
    ],
    "worker-replicas": [
        {"WORKER replicas": 1, **ranks(8)},
        {"WORKER replicas": "$N"},
    ],
    "launcher-replicas": [
        {"LAUNCHER replicas": GONE},
    ],
    "missing-containers": [
        {},
    ],
    "restart-policy": [
        {"WORKER restartPolicy": "Never"},
    ],
    "launcher-creation-policy": [
        {"spec launcherCreationPolicy": "AtStartup"},
    ],
    "gang-deadlock": [
        {"spec runPolicy schedulingPolicy": {"minAvailable": 2}},
        {"spec runPolicy schedulingPolicy": {}, "spec launcherCreationPolicy": "AtStartup"},
        {"spec runPolicy schedulingPolicy": {"minAvailable": "$N"}},
    ],
    "workers-outlive-job": [
        {"spec runPolicy cleanPodPolicy": "All"},
        # They keep nothing from others.
        {"spec runPolicy cleanPodPolicy": "None", "WORKER-CONTAINER resources": GONE},
        # They may end by themselves.
        {"spec runPolicy cleanPodPolicy": "None", "WORKER-CONTAINER command": GONE, "WORKER-CONTAINER args": ["test"]},
    ],
    "suspended-launcher-does-not-wait": [
        {"spec runPolicy suspend": False},
        # The default of 6 retries is enough.
        {"metadata labels": {"kueue.x-k8s.io/queue-name": "a"}},
        {"metadata labels": {"kueue.x-k8s.io/queue-name": "a"}, "spec launcherCreationPolicy": "AtStartup"},
        {
            "metadata labels": {"kueue.x-k8s.io/queue-name": "a"},
            **launched("python", "-m", "wait", "--", "mpirun", "-np", "16", "train"),
        },
    ],
    "launcher-may-be-too-early": [
        {"spec launcherCreationPolicy": GONE},
        {"spec launcherCreationPolicy": GONE, "spec runPolicy backoffLimit": 6},
        {"spec launcherCreationPolicy": GONE, "spec runPolicy backoffLimit": 3, **both("nvidia.com/gpu", GONE)},
        {"spec launcherCreationPolicy": GONE, "spec runPolicy backoffLimit": 3, **launched(*ELASTIC)},
        {
            "spec launcherCreationPolicy": GONE,
            "spec runPolicy backoffLimit": 3,
            **launched("python", "-m", "wait", "--", "mpirun", "train"),
        },
        {
            "spec launcherCreationPolicy": GONE,
            "spec runPolicy backoffLimit": 3,
            **script("until ssh job-worker-0 true; do sleep 1; done; mpirun -np 16 train"),
        },
        {
            "spec launcherCreationPolicy": GONE,
            "spec runPolicy backoffLimit": 3,
            "LAUNCHER-POD initContainers": [{"name": "wait", "image": "i"}],
        },
        # A gang starts together, and one that waits for workers would never start.
        {
            "spec launcherCreationPolicy": GONE,
            "spec runPolicy backoffLimit": 3,
            "WORKER-POD schedulerName": "volcano",
            "LAUNCHER-POD schedulerName": "volcano",
        },
        {
            "spec launcherCreationPolicy": GONE,
            "spec runPolicy backoffLimit": 3,
            "spec runPolicy schedulingPolicy": {"minAvailable": 3},
        },
    ],
    "no-session-folder": [
        {
            "LAUNCHER-CONTAINER securityContext": {"readOnlyRootFilesystem": True},
            "LAUNCHER-CONTAINER volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        },
        {
            "LAUNCHER-CONTAINER securityContext": {"readOnlyRootFilesystem": True},
            **variables("LAUNCHER", FI_PROVIDER="efa", TMPDIR="/work"),
        },
        {"LAUNCHER-CONTAINER securityContext": {"readOnlyRootFilesystem": True}, **launched("/start")},
    ],
    "launcher-lacks-gpus": [
        {},
        {"spec runLauncherAsWorker": True, "LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8}}},
        {"spec runLauncherAsWorker": True, **both("nvidia.com/gpu", GONE)},
    ],
}
