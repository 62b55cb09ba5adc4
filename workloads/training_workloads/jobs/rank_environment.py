"""The variables that every rank gets, derived from its worker: threads, Horovod, torchrun, NCCL, libfabric."""

from training_workloads.catalog import InstanceType
from training_workloads.catalog.gpus import V100_16
from training_workloads.jobs.gpu_pods import GRACE_SECONDS
from training_workloads.jobs.worker_resources import WorkerResources

__all__ = [
    "DATA_THREADS",
    "INTRAOP_THREADS",
    "OPENMP_THREADS",
    "hierarchical_all_reduce",
    "nccl_environment",
    "rank_environment",
    "torch_environment",
]

#: TensorFlow's pool for the inside of one operation.
INTRAOP_THREADS = "TF_NUM_INTRAOP_THREADS"

#: The same of PyTorch.
OPENMP_THREADS = "OMP_NUM_THREADS"

#: Threads of a rank's input pipeline; for tf.data they are for `options.threading.private_threadpool_size`. TensorFlow
#: and PyTorch have no variable for it, so the programs read this one.
DATA_THREADS = "TRAINING_DATA_THREADS"

# NCCL fails without a plugin of this name (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net).
# Plugins up to 1.11.0 have no other; later ones take it beside their own, "Libfabric"
# (https://github.com/aws/aws-ofi-nccl/pull/530).
_EFA_PLUGIN = "AWS Libfabric"

# For torchrun to end after its ranks, and for the last lines to leave the pod.
_AFTER_THE_RANKS_SECONDS = 10

# A rank that waits this long for the others ends the job, which then restarts from its checkpoint. Without Horovod it
# is the limit of the programs' watchdog, and of what their ranks wait for each other.
_STALLS = {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "600"}


def rank_environment(resources: WorkerResources, workers: int) -> dict[str, str]:
    """Return the variables that every rank gets.

    Args:
        resources: Requests of one worker.
        workers: Workers of the job, at most.
    """
    return {
        **_threads(resources),
        **_STALLS,
        **nccl_environment(resources, workers),
        **(_batches_of_gradients(resources) if workers > 1 else {}),
    }


def torch_environment(resources: WorkerResources, workers: int) -> dict[str, str]:
    """Return the variables of a worker of torchrun and of its ranks.

    Args:
        resources: Requests of one worker.
        workers: Workers of the job, at most.
    """
    return {
        # The GPU computes; torchrun sets the same, with a warning, where a node has several ranks.
        OPENMP_THREADS: "1",
        DATA_THREADS: str(resources.cpus_per_rank),
        **_STALLS,
        # Each start of the ranks gets another store, on the node of rank zero. The one that torchrun would share
        # between all starts keeps the keys of the last one, in later releases the address of a lost node
        # (docs/adr/0022, https://github.com/pytorch/pytorch/issues/135712).
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        # How long torchrun waits for the ranks after a stop request, instead of 30 seconds (`--shutdown-timeout` in
        # torch/distributed/run.py, read in torch 2.15.0). A variable, because older releases reject the option.
        "PET_SHUTDOWN_TIMEOUT": str(GRACE_SECONDS - _AFTER_THE_RANKS_SECONDS),
        # NCCL's way between the nodes is chosen even if the job starts with one worker, since others may come.
        **nccl_environment(resources, max(2, workers)),
    }


def nccl_environment(resources: WorkerResources, workers: int) -> dict[str, str]:
    """Return the variables by which NCCL finds its network, and logs which it found.

    Args:
        resources: Requests of one worker.
        workers: Workers of the job, at most.
    """
    # The log is the only proof of which network NCCL chose.
    variables = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
    if workers > 1:
        # NCCL's bootstrap must not pick the loopback or a bridge; pods see the network as eth0.
        variables["NCCL_SOCKET_IFNAME"] = "^lo,docker,veth"
        if resources.efa_interfaces:
            # EFA or an error: libfabric must find EFA, and NCCL the plugin, without which it would use TCP.
            variables |= {"FI_PROVIDER": "efa", "NCCL_NET": _EFA_PLUGIN}
        else:
            # NCCL's own TCP, not that of libfabric, which the plugin might choose where it finds no EFA.
            variables["NCCL_NET"] = "Socket"
    return variables


def _threads(resources: WorkerResources) -> dict[str, str]:
    """Return pool sizes for the share of a rank; without them every rank takes all vCPUs of the node."""
    # Every vCPU decodes: the other threads mostly wait, and decoding stops while two batches are ready. With
    # two fewer, as NVIDIA's ResNet-50 has them, a V100 that takes 1,189 images/s (published) would be offered 900 to
    # 1,440; with all 7 of P3 1,260 to 2,016. Derived from an estimated 180 to 288 images/s of a vCPU, not measured:
    # https://github.com/NVIDIA/DeepLearningExamples/tree/master/TensorFlow/Classification/ConvNets
    data_threads = str(resources.cpus_per_rank)
    return {
        # The GPU computes; the CPU has many small operations, which run side by side rather than divided.
        INTRAOP_THREADS: "1",
        "TF_NUM_INTEROP_THREADS": data_threads,
        DATA_THREADS: data_threads,
        # A separate thread launches the kernels of each GPU, so that a busy input pipeline does not delay them.
        "TF_GPU_THREAD_MODE": "gpu_private",
    }


def _batches_of_gradients(resources: WorkerResources) -> dict[str, str]:
    """Return how many bytes of gradients Horovod sends at once, by default 128 MiB, and how often it checks, in ms.

    Bytes: with EFA what AWS trains Mask R-CNN with on P3dn and P4d, over TCP what it trained ResNet-50 with on P3:
    https://github.com/aws-samples/amazon-eks-machine-learning-with-terraform-and-kubeflow,
    https://github.com/aws-samples/aws-eks-deep-learning-benchmark

    Milliseconds: the last gradients of a step wait for the next check before they are sent. Over EFA all of ResNet-50's
    take about 4 ms, which Horovod's default of 1 ms would make noticeably longer, so half of it; over TCP they take
    30 ms and more, and a shorter cycle would only split them into more messages. Derived, not measured. Horovod reads
    fractions (`strtof` in https://github.com/horovod/horovod/blob/v0.28.1/horovod/common/operations.cc).
    """
    mib, cycle_ms = (64, 0.5) if resources.efa_interfaces else (16, 1)
    return {"HOROVOD_FUSION_THRESHOLD": str(mib * 1024 * 1024), "HOROVOD_CYCLE_TIME": str(cycle_ms)}


def hierarchical_all_reduce(instance: InstanceType, resources: WorkerResources, workers: int) -> dict[str, str]:
    """Return the variable with which, on V100 over TCP, NCCL adds within each worker and MPI sends the sums.

    As AWS trained ResNet-50 on P3 (https://github.com/aws-samples/aws-eks-deep-learning-benchmark); nothing is
    published for it on newer types. Only where every worker always has as many ranks as the others.
    """
    several = workers > 1 and resources.gpus > 1 and not resources.efa_interfaces
    is_v100 = instance.gpu is not None and instance.gpu.model == V100_16.model
    return {"HOROVOD_HIERARCHICAL_ALLREDUCE": "1"} if several and is_v100 else {}
