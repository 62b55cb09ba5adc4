"""Sources that the evidence of several rules cites, as Markdown."""

__all__ = ["COMMANDS", "HOROVODRUN", "JOBS", "KUEUE", "MPIRUN", "OPERATOR", "OPERATOR_VALIDATION", "SSHD"]

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
