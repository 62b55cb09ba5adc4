"""Sources that the evidence of several rules cites, as Markdown."""

__all__ = [
    "COMMANDS",
    "HOROVODRUN",
    "JOBS",
    "KUEUE",
    "MPIRUN",
    "OPERATOR",
    "OPERATOR_VALIDATION",
    "SSHD",
    "validated_by",
]

OPERATOR = "([operator](https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go))"
OPERATOR_VALIDATION = (
    "([operator](https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/validation/validation.go))"
)
MPIRUN = "([mpirun](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html))"
HOROVODRUN = "([launch.py](https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/launch.py))"
JOBS = "([Job](https://kubernetes.io/docs/concepts/workloads/controllers/job/))"
KUEUE = "([Kueue](https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/mpijobs/))"
SSHD = "([sshd](https://man.openbsd.org/sshd))"
COMMANDS = "([Kubernetes](https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/))"

_VALIDATION = "https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go"


def validated_by(functions: str, effect: str = "The pod is rejected") -> str:
    """Return the evidence, as Markdown, that functions of Kubernetes' own validation check something.

    Args:
        functions: Their names, such as `ValidateTolerations`.
        effect: The consequence for a wrong object.
    """
    return f"{effect} ([{functions}]({_VALIDATION}))"
