"""The ranks that mpirun has started, by the variables that it and the launcher set: no MPI is called.

On SageMaker there is no mpirun: its entry point starts the ranks, with the numbers that Horovod reads.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import UserError

#: Workers with their slots, in the hostfile's order, such as `job-worker-0.job:8,job-worker-1.job:8`.
HOSTS = "TRAINING_HOSTS"

#: The port of the first rank of a machine or pod; those of the others follow it.
PORT = "TRAINING_PORT"

# Below the ports that Linux gives to outgoing connections (from 32768).
_DEFAULT_PORT = 23456

_PREFIX = "OMPI_COMM_WORLD_"
_HOROVOD_PREFIX = "HOROVOD_"


def hosts_value(slots: Mapping[str, int]) -> str:
    """Return the value of `HOSTS` for a hostfile's names with their slots."""
    return ",".join(f"{name}:{count}" for name, count in slots.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class MpirunRanks:
    """This rank's numbers, and where each rank is.

    Attributes:
        rank: This process's number, from 0.
        local_rank: Its number on its machine or in its pod, from 0.
        local_size: The number of ranks on this machine or in this pod.
        addresses: Address of each rank, `name:port`.
    """

    rank: int
    local_rank: int
    local_size: int
    addresses: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.addresses)

    def tf_config(self) -> str:
        """Return the value of TF_CONFIG: https://www.tensorflow.org/guide/distributed_training."""
        task = {"type": "worker", "index": self.rank}
        return json.dumps({"cluster": {"worker": list(self.addresses)}, "task": task})


def find(environment: Mapping[str, str]) -> MpirunRanks:
    """Return the ranks of an environment; without mpirun's variables this process is the only one.

    Raises:
        UserError: The environment does not say where the ranks are.
    """
    is_numbered = f"{_HOROVOD_PREFIX}RANK" in environment
    # Horovodrun does not say where the ranks are.
    if is_numbered and HOSTS not in environment:
        raise UserError(
            "'--strategy' is multiworker, but horovodrun has started this rank; give '--strategy horovod', which "
            "elastic jobs need, or start the ranks with mpirun"
        )
    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    prefix = _HOROVOD_PREFIX if is_numbered else _PREFIX
    rank, size, local_rank, local_size = (
        int(environment.get(f"{prefix}{name}", default)) for name, default in zip(names, "0101", strict=True)
    )
    port, slots = _port(environment), _slots(environment, size=size, local_size=local_size)
    addresses = [f"{name}:{port + number}" for name, count in slots for number in range(count)]
    if len(addresses) < size:
        raise UserError(f"'{HOSTS}' has {len(addresses)} slots, but mpirun has started {size} ranks; give all hosts")
    if addresses[rank].rpartition(":")[2] != str(port + local_rank):
        raise UserError(
            f"rank {rank} is the number {local_rank} of its machine, but by '{HOSTS}' it is another: mpirun has not "
            "filled one worker after the other; omit '--map-by' and '--rank-by', or give mpirun '--map-by slot'"
        )
    found = tuple(addresses[:size])
    return MpirunRanks(rank=rank, local_rank=local_rank, local_size=local_size, addresses=found)


def _port(environment: Mapping[str, str]) -> int:
    text = environment.get(PORT, str(_DEFAULT_PORT))
    if not re.fullmatch("[0-9]{4,5}", text) or not 1024 <= int(text) <= 65000:
        raise UserError(f"'{PORT}' is {text!r}; give a port from 1024 to 65000")
    return int(text)


def _slots(environment: Mapping[str, str], *, size: int, local_size: int) -> list[tuple[str, int]]:
    if local_size == size:
        return [("localhost", size)]
    text = environment.get(HOSTS, "")
    found = [re.fullmatch(r"([\w.-]+):([0-9]{1,4})", each) for each in text.split(",")]
    if not text or None in found:
        given = f"is {text!r}" if text else "is not set"
        raise UserError(
            f"the ranks are on several machines, and '{HOSTS}' {given}; start mpirun by training.pods.launcher, "
            f"or give it '-x {HOSTS}=first:8,second:8' with the hostfile's names and slots"
        )
    return [(each[1], int(each[2])) for each in found if each]
