"""Rules on torchrun in jobs of other kinds than MPIJobs: ranks against GPUs, nodes against pods, and the pods' index.

https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from collections.abc import Iterator

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.other_workloads import JobView, TrainJobView
from training_workloads.manifests.pods import Container
from training_workloads.manifests.torchrun import Torchrun, torchrun
from training_workloads.manifests.values import whole
from training_workloads.manifests.workload import WorkloadView

_TORCHRUN = "https://docs.pytorch.org/docs/stable/elastic/run.html"
_INDEX = "JOB_COMPLETION_INDEX"


def _runs(workload: WorkloadView) -> Iterator[tuple[Container, Torchrun]]:
    for container in workload.containers:
        if found := torchrun(container.argv):
            yield container, found


@error(f"PyTorch stops: invalid device ordinal ([torchrun]({_TORCHRUN}))")
def ranks_exceed_gpus(workload: WorkloadView) -> Iterator[Found]:
    """More ranks of torchrun in a pod than the container has GPUs."""
    for container, run in _runs(workload):
        gpus = container.amount(GPU_RESOURCE)
        if gpus and run.ranks and run.ranks > gpus:
            problem = f"starts {run.ranks} ranks, but the container has {gpus} GPUs"
            yield Found(container.argv_path("nproc"), problem, f"write --nproc-per-node={gpus}")


@warning(f"GPUs without a rank do nothing, and are paid for ([torchrun]({_TORCHRUN}))")
def gpus_without_ranks(workload: WorkloadView) -> Iterator[Found]:
    """Fewer ranks of torchrun in a pod than the container has GPUs."""
    for container, run in _runs(workload):
        gpus = container.amount(GPU_RESOURCE)
        if gpus and run.ranks and run.ranks < gpus:
            problem = f"starts {run.ranks} ranks, but the container has {gpus} GPUs"
            yield Found(container.argv_path("nproc"), problem, f"write --nproc-per-node={gpus}, or request fewer GPUs")


@error(f"The rendezvous waits for nodes that never come, and times out ([torchrun]({_TORCHRUN}))")
def nodes_differ_from_pods(workload: WorkloadView) -> Iterator[Found]:
    """Another number of nodes for torchrun than the job has pods at once."""
    pods = _pods_together(workload)
    for container, run in _runs(workload):
        if pods and run.nodes and run.nodes > 1 and run.nodes != pods:
            problem = f"is for {run.nodes} nodes, but the job has {pods} pods"
            yield Found(container.argv_path("nnodes"), problem, f"write --nnodes={pods}, or run {run.nodes} pods")
            return


def _pods_together(workload: WorkloadView) -> int | None:
    """Return how many pods a job has for one group of ranks; None where that is not clear."""
    if isinstance(workload, TrainJobView):
        return None
    if not isinstance(workload, JobView):
        counts = [pods.replicas for pods in workload.groups]
        return None if None in counts else sum(count or 0 for count in counts)
    # The pods of several replicated jobs need not be one group.
    if len(workload.jobs) != 1 or workload.jobs[0].copies is None:
        return None
    job = workload.jobs[0]
    at_once = max(job.parallelism or 0, whole(job.spec.get("completions")) or 0)
    return at_once * (job.copies or 0)


@error(
    "The first pods wait for those that start when they have ended ([parallelism]("
    "https://kubernetes.io/docs/concepts/workloads/controllers/job/#parallel-jobs))"
)
def pods_one_after_another(workload: WorkloadView) -> Iterator[Found]:
    """A Job with torchrun that runs fewer pods at once than it has in all."""
    for job in workload.jobs if isinstance(workload, JobView) else ():
        completions, parallelism = whole(job.spec.get("completions")), job.parallelism
        runs = [run for one in job.pods.containers if (run := torchrun(one.argv))]
        together = any((run.nodes or 0) > 1 for run in runs)
        if together and completions and parallelism is not None and parallelism < completions:
            problem = f"is {parallelism}, but the {completions} pods of completions wait for each other"
            yield Found((*job.path, "parallelism"), problem, f"write parallelism: {completions}")


@error(
    "Only an Indexed Job gives its pods an index, and host names ([Kubernetes](https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode))"
)
def job_not_indexed(workload: WorkloadView) -> Iterator[Found]:
    """A Job whose pods use their index, and which is not Indexed."""
    for job in workload.jobs if isinstance(workload, JobView) else ():
        mode = job.spec.get("completionMode")
        uses = any(_INDEX in word for one in job.pods.containers for word in one.argv)
        # The webhook of JobSets writes Indexed where it is missing
        # (https://github.com/kubernetes-sigs/jobset/blob/v0.10.1/pkg/webhooks/jobset_webhook.go).
        if uses and (mode == "NonIndexed" or (mode is None and workload.kind == "Job")):
            given = "is missing, and the default is NonIndexed" if mode is None else f"is {mode}"
            problem = f"{given}: the pods have no {_INDEX}"
            yield Found((*job.path, "completionMode"), problem, "write completionMode: Indexed")


@error(f"PyTorch stops: invalid device ordinal ([torchrun]({_TORCHRUN}))")
def train_job_ranks(workload: WorkloadView) -> Iterator[Found]:
    """More ranks for each node of a TrainJob than the node has GPUs."""
    if not isinstance(workload, TrainJobView):
        return
    ranks = whole(workload.trainer.get("numProcPerNode"))
    gpus = sum(pods.total(GPU_RESOURCE) for pods in workload.groups)
    if ranks and gpus and ranks > gpus:
        problem = f"is {ranks}, but resourcesPerNode has {gpus} GPUs"
        yield Found(("spec", "trainer", "numProcPerNode"), problem, f"write numProcPerNode: {gpus}")
