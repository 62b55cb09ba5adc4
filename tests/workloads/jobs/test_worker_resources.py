import pytest

from training_workloads import INSTANCE_TYPES, InputError, InstanceType, gpu_instance_type
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources


def test_a_whole_p3dn_node() -> None:
    assert worker_resources(gpu_instance_type("p3dn.24xlarge"), 8) == WorkerResources(
        gpus=8, efa_interfaces=1, cpus=92, memory_gib=686, hugepages_mib=5120, shm_gib=32
    )


@pytest.mark.parametrize("node", [node for node in INSTANCE_TYPES.values() if node.gpus], ids=lambda node: node.name)
def test_the_workers_that_share_a_node_fit_on_it(node: InstanceType) -> None:
    for gpus in range(1, node.gpus + 1):
        if node.efa_interfaces * gpus % node.gpus:
            continue
        share = worker_resources(node, gpus)
        workers = node.gpus // gpus
        assert workers <= workers * share.cpus < node.vcpus
        assert workers * share.efa_interfaces <= node.efa_interfaces
        assert workers * (share.memory_gib + share.hugepages_mib / 1024) < node.memory_gib
        assert share.shm_gib < share.memory_gib


def test_a_worker_without_efa_takes_any_number_of_gpus() -> None:
    resources = worker_resources(gpu_instance_type("p4d.24xlarge"), 3, 0)
    assert (resources.gpus, resources.efa_interfaces, resources.hugepages_mib) == (3, 0, 0)


def test_a_small_node_keeps_three_gib_for_its_daemons() -> None:
    assert worker_resources(gpu_instance_type("g4dn.xlarge"), 1).memory_gib == 13


def test_rejects_more_gpus_than_the_type_has() -> None:
    with pytest.raises(InputError) as caught:
        worker_resources(gpu_instance_type("p3dn.24xlarge"), 16)
    assert str(caught.value) == (
        "'gpus_per_worker' is 16, but p3dn.24xlarge has 8 GPUs; lower it to 8 or fewer, or use more workers"
    )


def test_rejects_a_part_of_an_efa_interface() -> None:
    with pytest.raises(InputError) as caught:
        worker_resources(gpu_instance_type("p4d.24xlarge"), 3)
    assert str(caught.value) == (
        "'gpus_per_worker' is 3, but on p4d.24xlarge an EFA interface serves 2 GPUs; use a multiple of 2, or no EFA "
        "(0 EFA interfaces)"
    )
