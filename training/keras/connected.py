"""The ranks of a script that connects them itself: by Horovod, by `tf.distribute`, or not at all."""

import os
import sys
from typing import Any

import tensorflow as tf

from ..runtime import mpirun_environment, ranks
from ..runtime.errors import UserError
from ..runtime.tensorflow_ranks import TensorFlowRanks


def connect(strategy: Any = None) -> None:
    """Use the ranks that the script has connected.

    Args:
        strategy: The strategy in whose scope the model is.

    Raises:
        UserError: There are other ranks, which the script has not connected.
    """
    hvd = sys.modules.get("horovod.tensorflow")
    if hvd is not None and hvd.is_initialized():
        # Only where the script has imported it: others run without Horovod.
        from ..runtime.horovod_ranks import HorovodRanks

        ranks.use(HorovodRanks())
    elif isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        ranks.use(_of(strategy))
    else:
        _check_alone(strategy)
        ranks.use(TensorFlowRanks())


def _of(strategy: Any) -> TensorFlowRanks:
    from ..runtime.multiworker_ranks import MultiworkerRanks

    resolver = strategy.cluster_resolver
    workers = list(resolver.cluster_spec().as_dict().get("worker", ())) if resolver else []
    if len(workers) < 2:
        return TensorFlowRanks()
    host = workers[resolver.task_id].rpartition(":")[0]
    on_host = [number for number, address in enumerate(workers) if address.rpartition(":")[0] == host]
    place = mpirun_environment.MpirunRanks(
        rank=resolver.task_id,
        local_rank=on_host.index(resolver.task_id),
        local_size=len(on_host),
        addresses=tuple(workers),
    )
    return MultiworkerRanks(place, strategy)


def _check_alone(strategy: Any) -> None:
    """Reject several processes of which each would train alone, into one folder."""
    started = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
    if started > 1:
        given = "None" if strategy is None else type(strategy).__name__
        raise UserError(
            f"mpirun has started {started} ranks, but Horovod is not initialized and 'strategy' is {given}; call "
            "hvd.init() of horovod.tensorflow.keras before ResumeCallback, or give it the MultiWorkerMirroredStrategy"
        )
