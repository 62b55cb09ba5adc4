"""The pods of a job as the API server gets them, for a dry run: what a namespace allows applies to pods, not to jobs.

Pod Security, quotas, LimitRanges and webhooks are asked only when the operator creates a pod.
"""

import copy
from collections.abc import Iterator
from typing import Any

from training_workloads.cluster.resources import BATCH_JOBS, MPI_JOBS
from training_workloads.manifests.values import mapping, sequence
from training_workloads.mpijob.api import JOB_NAME_LABEL, JOB_ROLE_LABEL, LAUNCHER, WORKER
from training_workloads.mpijob.view import MpiJobView, Replica
from training_workloads.validation import Path

__all__ = ["job_pods"]

# Parts that the operator adds: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go
_OPERATOR_LABEL = "training.kubeflow.org/operator-name"
_INDEX_LABEL = "training.kubeflow.org/replica-index"
_ROOT_SSH_PATH = "/root/.ssh"
_CONFIG_PATH = "/etc/mpi"
_RESTART_POLICIES = {LAUNCHER: "OnFailure", WORKER: "Never"}

# No object has it: the API server looks no owner up, but admission rules ask whether a controller creates the pod.
_NO_UID = "00000000-0000-0000-0000-000000000000"


def job_pods(job: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the path of each pod template of a job, and a pod of it as the job's controller would create it.

    A template without containers has no pod.
    """
    if job["kind"] == MPI_JOBS.kind:
        view = MpiJobView(document=job)
        for replica in view.replicas:
            if replica.containers and replica.replicas != 0:
                yield replica.template_path, _mpi_pod(job, view, replica)
    else:
        template = mapping(mapping(job.get("spec")).get("template"))
        if sequence(mapping(template.get("spec")).get("containers")):
            yield ("spec", "template"), _pod(job, template, BATCH_JOBS.api_version, BATCH_JOBS.kind)


def _pod(job: dict[str, Any], template: Any, owner_version: str, owner_kind: str, role: str = "") -> dict[str, Any]:
    """Return a pod of a template, with a name that the API server completes."""
    name = job["metadata"]["name"]
    owner = {"apiVersion": owner_version, "kind": owner_kind, "name": name, "uid": _NO_UID, "controller": True}
    metadata = mapping(template.get("metadata"))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name}-{role}-" if role else f"{name}-",
            "labels": dict(mapping(metadata.get("labels"))),
            "annotations": dict(mapping(metadata.get("annotations"))),
            "ownerReferences": [owner],
        },
        "spec": copy.deepcopy(dict(mapping(template.get("spec")))),
    }


def _mpi_pod(job: dict[str, Any], view: MpiJobView, replica: Replica) -> dict[str, Any]:
    role, name = replica.role.lower(), job["metadata"]["name"]
    owner = BATCH_JOBS if role == LAUNCHER else MPI_JOBS
    pod = _pod(job, replica.template, owner.api_version, owner.kind, role)
    pod["metadata"]["labels"] |= {_OPERATOR_LABEL: "mpi-operator", JOB_NAME_LABEL: name, JOB_ROLE_LABEL: role}
    if role == WORKER:
        pod["metadata"]["labels"][_INDEX_LABEL] = "0"
    spec = pod["spec"]
    policy = replica.content.get("restartPolicy") or _RESTART_POLICIES[role]
    spec["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    keys = {"name": "ssh-auth", "secret": {"secretName": f"{name}-ssh"}}
    _mount(spec, keys, view.spec.get("sshAuthMountPath") or _ROOT_SSH_PATH)
    if role == LAUNCHER:
        _mount(spec, {"name": "mpi-job-config", "configMap": {"name": f"{name}-config"}}, _CONFIG_PATH)
    return pod


def _mount(spec: dict[str, Any], volume: dict[str, Any], path: str) -> None:
    """Add a volume to the pod and its mount to the first container: other containers may mount it too."""
    spec["volumes"] = [*(spec.get("volumes") or []), volume]
    first = spec["containers"][0]
    first["volumeMounts"] = [*(first.get("volumeMounts") or []), {"name": volume["name"], "mountPath": path}]
