"""The bounds of an MPIJob: no real job reaches them, and the operator survives a job that reaches one of them.

The operator is one process for all namespaces, with 1 GiB of memory: a job with which it exceeds that stops the jobs of
every user, at each of its restarts again. The definition has these bounds, and the specs, `submit`, `scale` and the
lint check them before. The product of the workers and the size of their template is not bounded (ADR 18).
"""

from typing import NamedTuple

__all__ = ["CONTAINERS", "DEADLINE_SECONDS", "ENTRIES", "LAUNCHERS", "SLOTS", "TEXT", "WORDS", "WORKERS", "Bound"]


class Bound(NamedTuple):
    """The largest value that is allowed, and why, as a clause after "but"."""

    most: int
    reason: str


#: Workers. The operator writes the hostfile in memory, at up to 200 bytes a worker, and keeps the workers' pods there:
#: 5,000,000 workers end it with 1 GiB (run); 5,000 pods of 100 kB are half of that (derived). 1 MiB, the most that a
#: ConfigMap holds, is the hostfile of about 15,000.
#: https://kubernetes.io/docs/setup/best-practices/cluster-large/ ,
#: https://kubernetes.io/docs/concepts/configuration/configmap/
WORKERS = Bound(5_000, "Kubernetes supports 5000 nodes, and the MPI operator keeps all workers in memory")

#: Ranks of a worker. https://github.com/torvalds/linux/blob/v6.12/arch/x86/Kconfig (NR_CPUS)
SLOTS = Bound(8_192, "Linux supports 8192 CPUs in a machine")

#: Pods of the launcher that replace a failed one: each stays until the job is deleted.
#: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection
LAUNCHERS = Bound(10_000, "each launcher that failed stays as a pod, and Kubernetes deletes such pods from 12500 on")

#: Seconds. https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/controller/job/job_controller.go
#: (`pastActiveDeadline`): it counts nanoseconds in 64 bits.
DEADLINE_SECONDS = Bound(
    (2**63 - 1) // 10**9, "Kubernetes counts nanoseconds, and a longer time overflows: the job would end at once"
)

#: Entries of a list or mapping in a pod's template, of which each of the workers' pods has a copy in the operator.
ENTRIES = Bound(1_000, "the MPI operator keeps a copy for each worker in memory")

#: Containers of a pod, each of up to 1 kB in the operator's memory even where its text is short.
CONTAINERS = Bound(100, ENTRIES.reason)

#: Words of a list of texts, such as a command.
WORDS = Bound(10_000, ENTRIES.reason)

#: Characters of a text. Linux gives a process no longer argument or variable.
#: https://man7.org/linux/man-pages/man2/execve.2.html (MAX_ARG_STRLEN)
TEXT = Bound(131_072, "Linux gives a process no longer text")
