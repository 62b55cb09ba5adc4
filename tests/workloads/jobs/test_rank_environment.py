import pytest

from training_workloads import gpu_instance_type
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources


def whole(name: str) -> WorkerResources:
    instance = gpu_instance_type(name)
    return worker_resources(instance, instance.gpus)


def test_ranks_on_p3dn_use_tcp_without_efa() -> None:
    instance = gpu_instance_type("p3dn.24xlarge")
    assert rank_environment(worker_resources(instance, 8, 0), workers=2) == {
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "11",
        "TRAINING_DATA_THREADS": "11",
        "TF_GPU_THREAD_MODE": "gpu_private",
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "600",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
        "NCCL_SOCKET_IFNAME": "^lo,docker,veth",
        "NCCL_NET": "Socket",
        "HOROVOD_FUSION_THRESHOLD": "16777216",
        "HOROVOD_CYCLE_TIME": "1",
    }


@pytest.mark.parametrize(("name", "threads"), [("p3dn.24xlarge", "11"), ("p4d.24xlarge", "11"), ("p5.48xlarge", "23")])
def test_threads_follow_from_the_vcpus_of_each_rank(name: str, threads: str) -> None:
    assert rank_environment(whole(name), workers=1)["TRAINING_DATA_THREADS"] == threads


def test_all_vcpus_of_a_small_worker_decode() -> None:
    assert rank_environment(whole("g4dn.xlarge"), workers=1)["TRAINING_DATA_THREADS"] == "2"


def test_one_worker_needs_no_network() -> None:
    environment = rank_environment(whole("p4d.24xlarge"), workers=1)
    assert not {
        "NCCL_SOCKET_IFNAME",
        "NCCL_NET",
        "FI_PROVIDER",
        "HOROVOD_FUSION_THRESHOLD",
        "HOROVOD_CYCLE_TIME",
    } & set(environment)


@pytest.mark.parametrize(
    ("name", "gpus", "workers", "efa", "hierarchical"),
    [
        ("p3dn.24xlarge", 8, 2, False, True),
        ("p3dn.24xlarge", 8, 1, False, False),
        ("p3dn.24xlarge", 1, 2, False, False),
        ("p3dn.24xlarge", 8, 2, True, False),
        ("p4d.24xlarge", 8, 2, False, False),
        ("g4dn.12xlarge", 4, 2, False, False),
    ],
)
def test_only_several_v100_over_tcp_reduce_in_two_steps(
    name: str, gpus: int, workers: int, efa: bool, hierarchical: bool
) -> None:
    instance = gpu_instance_type(name)
    expected = {"HOROVOD_HIERARCHICAL_ALLREDUCE": "1"} if hierarchical else {}
    assert hierarchical_all_reduce(instance, worker_resources(instance, gpus, None if efa else 0), workers) == expected
