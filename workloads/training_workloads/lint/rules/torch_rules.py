"""Rules on torchrun in jobs of other kinds than MPIJobs: ranks against GPUs, nodes against pods, and the pods' index.

https://docs.pytorch.org/docs/stable/elastic/run.html
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from difflib import get_close_matches

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.other_workloads import BatchJob, JobSetView, JobView, TrainJobView
from training_workloads.manifests.pods import Container
from training_workloads.manifests.torchrun import RESERVED_BY_TRAINER, Torchrun, torchrun
from training_workloads.manifests.values import is_placeholder, mapping, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import known_names

_TORCHRUN = "https://docs.pytorch.org/docs/stable/elastic/run.html"
_ACCELERATE = "https://huggingface.co/docs/accelerate/package_reference/cli"
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
        # A part of a GPU is the mistake of another rule.
        if gpus and gpus == gpus.to_integral_value() and run.ranks and run.ranks > gpus:
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
        if not pods or not run.nodes or run.nodes == pods or not _is_one_group(workload, container, run):
            continue
        # One Job for each node: the others have the other numbers.
        if workload.kind == "Job" and pods == 1 and run.options.get("node-rank", "").isdecimal():
            continue
        given = f"is for {run.nodes} nodes" if "nnodes" in run.options else "has no --nnodes, whose default is 1"
        problem = f"{given}, but the job has {pods} pods"
        fix = f"write --nnodes={pods}" + (f", or run {run.nodes} pods" if run.nodes > 1 else "")
        yield Found(container.argv_path("nnodes" if "nnodes" in run.options else "torch"), problem, fix)
        return


def _is_one_group(workload: WorkloadView, container: Container, run: Torchrun) -> bool:
    """Return whether pods with a torchrun are nodes of one group of ranks, whose number the command gives."""
    # The operators of the other kinds give the number by PET_NNODES.
    counts_itself = isinstance(workload, JobView) and "PET_NNODES" not in container.environment
    return (run.nodes or 0) > 1 or (counts_itself and bool(_MEETS & set(run.options)))


# Options with which pods are nodes of one job.
_MEETS = {"node-rank", "master-addr", "rdzv-endpoint"}


def _pods_together(workload: WorkloadView) -> int | None:
    """Return how many pods a job has for one group of ranks; None where that is not clear."""
    # An operator gives the number of nodes to those without the option.
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
        # A value in `env` is another number; its annotation is missing too.
        containers = [one for one in job.pods.containers if one.environment.get(_INDEX, (None,))[0] is None]
        uses = any(_USES_INDEX.search(word) for one in containers for word in one.argv)
        uses = uses or _names_pod(workload, job)
        # The webhook of JobSets writes Indexed where it is missing
        # (https://github.com/kubernetes-sigs/jobset/blob/v0.10.1/pkg/webhooks/jobset_webhook.go).
        if uses and (mode == "NonIndexed" or (mode is None and workload.kind == "Job")):
            given = "is missing, and the default is NonIndexed" if mode is None else f"is {mode}"
            problem = f"{given}: the pods have no {_INDEX}"
            yield Found((*job.path, "completionMode"), problem, "write completionMode: Indexed")


# Not `${JOB_COMPLETION_INDEX:-0}`, which has another value without it.
_USES_INDEX = re.compile(rf"\$(\(?{_INDEX}\b|\{{{_INDEX}\}})|environ\[.{_INDEX}")


def _names_pod(workload: WorkloadView, job: BatchJob) -> bool:
    """Return whether an address of rank 0 is that of a pod by its index."""
    name = workload.metadata.get("name")
    runs = [run for one in job.pods.containers if (run := torchrun(one.argv))]
    return workload.kind == "Job" and any(run.address.startswith(f"{name}-0.") for run in runs)


@error(f"Each pod takes itself for that node, and they wait for the others ([torchrun]({_TORCHRUN}))")
def same_node_rank(workload: WorkloadView) -> Iterator[Found]:
    """The same number of the node for several pods of torchrun."""
    for pods in workload.groups:
        for container in pods.containers if (pods.replicas or 0) > 1 else ():
            run = torchrun(container.argv)
            rank = run.options.get("node-rank", "") if run else ""
            if run and rank.isdecimal() and (run.nodes is None or run.nodes > 1):
                problem = f"has node rank {rank} in each of {pods.replicas} pods"
                fix = f"write --node-rank=$({_INDEX})" if isinstance(workload, JobView) else "remove --node-rank"
                yield Found(container.argv_path("node"), problem, fix)


@error(f"accelerate takes each pod for that machine, and they wait for the others ([accelerate]({_ACCELERATE}))")
def same_machine_rank(workload: WorkloadView) -> Iterator[Found]:
    """The same number of the machine for several pods of accelerate."""
    for pods in workload.groups:
        for container in pods.containers if (pods.replicas or 0) > 1 else ():
            words = " ".join(container.argv)
            rank, machines = (re.search(rf"--{name}[= ](\d+)", words) for name in ("machine_rank", "num_machines"))
            if rank and (machines is None or machines[1] != "1") and "accelerate" in words:
                problem = f"has machine rank {rank[1]} in each of {pods.replicas} pods"
                yield Found(container.argv_path("machine_rank"), problem, "give each pod its own, such as its index")


@error(f"torchrun's default is 127.0.0.1: each pod waits at itself ([torchrun]({_TORCHRUN}))")
def rendezvous_left_out(workload: WorkloadView) -> Iterator[Found]:
    """Several nodes of torchrun in a Job or JobSet, and no address at which they meet."""
    for container, run in _runs(workload):
        named = {"PET_MASTER_ADDR", "PET_RDZV_ENDPOINT"} & set(container.environment)
        unclear = container.content.get("envFrom") or any("PET_" in word for word in container.argv)
        if workload.kind not in ("Job", "JobSet") or (run.nodes or 1) == 1 or named or unclear:
            continue
        if not run.address and "standalone" not in run.options:
            problem = f"is for {run.nodes} nodes, but names no address at which they meet"
            yield Found(container.argv_path("torch"), problem, "add --master-addr with the name of the pod of index 0")


@error(
    "The index counts the pods of one job of the set: each copy has the same ones ([JobSet]("
    "https://jobset.sigs.k8s.io/docs/concepts/))"
)
def index_of_a_copy(workload: WorkloadView) -> Iterator[Found]:
    """A JobSet with several copies of a job whose pods number their nodes by the index in one copy."""
    for job in workload.jobs if isinstance(workload, JobSetView) else ():
        for container in job.pods.containers:
            run = torchrun(container.argv)
            by_index = run is not None and _INDEX in run.options.get("node-rank", "")
            each = max(job.parallelism or 0, whole(job.spec.get("completions")) or 0)
            if run and by_index and (job.copies or 0) > 1 and each and (run.nodes or 0) > each:
                problem = f"numbers its nodes by {_INDEX}, but each of {job.copies} copies of the job begins with 0"
                fix = f"write replicas: 1, and parallelism and completions: {run.nodes}"
                yield Found(container.argv_path(_INDEX), problem, fix)


# https://github.com/pytorch/pytorch/blob/v2.5.0/torch/distributed/run.py (get_args_parser)
_OPTIONS = (
    *("nnodes", "nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "standalone"),
    *("max-restarts", "monitor-interval", "start-method", "role", "module", "no-python", "run-path", "log-dir"),
    *("redirects", "tee", "local-ranks-filter", "node-rank", "master-addr", "master-port", "local-addr"),
    *("logs-specs", "numa-binding", "signals-to-handle", "virtual-local-rank", "event-log-handler", "use-env"),
    *("duplicate-stdout-filters", "duplicate-stderr-filters", "shutdown-timeout", "help"),
)
_PER_NODE = ("auto", "cpu", "gpu", "xpu")
_BACKENDS = ("c10d", "etcd", "etcd-v2", "static", "zeus-adapter")


@error(f"torchrun ends with `unrecognized arguments` or `Unsupported nproc_per_node value` ([torchrun]({_TORCHRUN}))")
def torchrun_option(workload: WorkloadView) -> Iterator[Found]:
    """An option of torchrun that is misspelled, or a value that it does not take."""
    for container, run in _runs(workload):
        for name, value in run.options.items():
            close = get_close_matches(name, _OPTIONS, n=1, cutoff=0.75)
            # The first letters of an option stand for it.
            known = any(one.startswith(name) for one in _OPTIONS)
            allowed = {"nproc-per-node": _PER_NODE, "rdzv-backend": _BACKENDS}.get(name, ())
            is_other = value and not value.isdecimal() and not is_placeholder(value, capitals=True) and "$" not in value
            if not known and close and not is_placeholder(name):
                problem, fix = f"has --{name}, which torchrun does not know, and ends", f"write --{close[0]}"
            elif allowed and is_other and value not in allowed:
                problem, fix = f"has --{name}={value}, and torchrun ends", known_names(value, allowed)
            else:
                continue
            yield Found(container.argv_path("torch"), problem, fix)


@error(
    "The webhook rejects the TrainJob: `must not have reserved envs` ([torch plugin]("
    "https://github.com/kubeflow/trainer/blob/v2.1.0/pkg/runtime/framework/plugins/torch/torch.go))"
)
def reserved_variable(workload: WorkloadView) -> Iterator[Found]:
    """A variable of torchrun that the trainer sets itself."""
    runtime = mapping(workload.spec.get("runtimeRef")).get("name")
    if not isinstance(workload, TrainJobView) or "torch" not in str(runtime):
        return
    for container in workload.containers:
        for name, (_, path) in container.environment.items():
            if name in RESERVED_BY_TRAINER:
                yield Found(
                    path, f"sets {name}, and the TrainJob is rejected", "remove it: numNodes and the trainer set it"
                )


@error(f"PyTorch stops: invalid device ordinal ([torchrun]({_TORCHRUN}))")
def train_job_ranks(workload: WorkloadView) -> Iterator[Found]:
    """More ranks for each node of a TrainJob than the node has GPUs."""
    ranks, gpus = _of_a_node(workload)
    if 0 < gpus < ranks:
        yield _other_ranks(ranks, gpus)


@warning(f"GPUs without a rank do nothing, and are paid for ([torchrun]({_TORCHRUN}))")
def train_job_idle_gpus(workload: WorkloadView) -> Iterator[Found]:
    """Fewer ranks for each node of a TrainJob than the node has GPUs."""
    ranks, gpus = _of_a_node(workload)
    if 0 < ranks < gpus:
        yield _other_ranks(ranks, gpus)


def _of_a_node(workload: WorkloadView) -> tuple[int, Decimal]:
    """Return the ranks and the GPUs of a TrainJob's node; 0 where they are not known."""
    if not isinstance(workload, TrainJobView):
        return 0, Decimal(0)
    gpus = sum((pods.total(GPU_RESOURCE) for pods in workload.groups), Decimal(0))
    return whole(workload.trainer.get("numProcPerNode")) or 0, gpus


def _other_ranks(ranks: int, gpus: Decimal) -> Found:
    problem = f"is {ranks}, but resourcesPerNode has {gpus} GPUs"
    return Found(("spec", "trainer", "numProcPerNode"), problem, f"write numProcPerNode: {gpus}")
