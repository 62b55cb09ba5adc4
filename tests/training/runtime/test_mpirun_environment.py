import json

import pytest

from training.runtime import mpirun_environment
from training.runtime.errors import UserError

HOSTS = mpirun_environment.hosts_value({"job-worker-0.job": 2, "job-worker-1.job": 2})


def environment(rank: int, size: int, local_rank: int, local_size: int, **more: str) -> dict[str, str]:
    numbers = {"RANK": rank, "SIZE": size, "LOCAL_RANK": local_rank, "LOCAL_SIZE": local_size}
    return {**{f"OMPI_COMM_WORLD_{name}": str(number) for name, number in numbers.items()}, **more}


def test_without_mpirun_a_process_is_the_only_rank() -> None:
    found = mpirun_environment.find({})
    assert (found.rank, found.size, found.local_rank, found.local_size) == (0, 1, 0, 1)


def test_each_rank_of_two_workers_has_its_own_port() -> None:
    found = mpirun_environment.find(environment(3, 4, 1, 2, TRAINING_HOSTS=HOSTS))
    assert (found.rank, found.size, found.local_rank, found.local_size) == (3, 4, 1, 2)
    assert json.loads(found.tf_config()) == {
        "cluster": {
            "worker": [
                "job-worker-0.job:23456",
                "job-worker-0.job:23457",
                "job-worker-1.job:23456",
                "job-worker-1.job:23457",
            ]
        },
        "task": {"type": "worker", "index": 3},
    }


def test_fewer_ranks_than_slots_fill_the_first_worker() -> None:
    found = mpirun_environment.find(environment(2, 3, 0, 1, TRAINING_HOSTS=HOSTS))
    assert found.addresses == ("job-worker-0.job:23456", "job-worker-0.job:23457", "job-worker-1.job:23456")


def test_the_ranks_of_one_machine_need_no_hosts() -> None:
    found = mpirun_environment.find(environment(1, 2, 1, 2, TRAINING_PORT="3000"))
    assert found.addresses == ("localhost:3000", "localhost:3001")


def test_on_sagemaker_the_ranks_have_horovods_numbers() -> None:
    numbers = {"RANK": "3", "SIZE": "4", "LOCAL_RANK": "1", "LOCAL_SIZE": "2"}
    hosts = mpirun_environment.hosts_value({"algo-1": 2, "algo-2": 2})
    found = mpirun_environment.find(
        {f"HOROVOD_{name}": text for name, text in numbers.items()} | {"TRAINING_HOSTS": hosts}
    )
    assert (found.rank, found.local_rank, found.local_size) == (3, 1, 2)
    assert found.addresses == ("algo-1:23456", "algo-1:23457", "algo-2:23456", "algo-2:23457")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            environment(0, 4, 0, 2),
            "the ranks are on several machines, and 'TRAINING_HOSTS' is not set; start mpirun by "
            "training.pods.launcher, or give it '-x TRAINING_HOSTS=first:8,second:8' with the hostfile's names and "
            "slots",
        ),
        (environment(0, 4, 0, 2, TRAINING_HOSTS="first"), "'TRAINING_HOSTS' is 'first'; start mpirun by"),
        (
            environment(0, 8, 0, 4, TRAINING_HOSTS=HOSTS),
            "'TRAINING_HOSTS' has 4 slots, but mpirun has started 8 ranks; give all hosts",
        ),
        (
            environment(1, 4, 0, 2, TRAINING_HOSTS=HOSTS),
            "rank 1 is the number 0 of its machine, but by 'TRAINING_HOSTS' it is another: mpirun has not filled",
        ),
        (environment(0, 2, 0, 2, TRAINING_PORT="80"), "'TRAINING_PORT' is '80'; give a port from 1024 to 65000"),
        (environment(0, 2, 0, 2, TRAINING_PORT="x"), "'TRAINING_PORT' is 'x'; give a port from 1024 to 65000"),
        (
            {"HOROVOD_RANK": "0", "HOROVOD_ELASTIC": "1"},
            "'--strategy' is multiworker, but horovodrun has started this rank; give '--strategy horovod', "
            "which elastic jobs need, or start the ranks with mpirun",
        ),
    ],
)
def test_rejects_ranks_that_cannot_find_each_other(given: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as error:
        mpirun_environment.find(given)
    assert message in str(error.value)
