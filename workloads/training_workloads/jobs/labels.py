"""The labels that the operator puts on the pods of an MPIJob.

https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/constants.go
"""

__all__ = ["JOB_NAME_LABEL", "JOB_ROLE_LABEL", "LAUNCHER", "WORKER"]

#: Name of the job.
JOB_NAME_LABEL = "training.kubeflow.org/job-name"

#: What the pod is in it.
JOB_ROLE_LABEL = "training.kubeflow.org/job-role"
LAUNCHER = "launcher"
WORKER = "worker"
