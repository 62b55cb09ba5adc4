"""Which device a rank computes on, and how."""

import os
from typing import TypeVar

import tensorflow as tf

from . import tensorflow_ranks, xla
from .cores import share_of_cores
from .errors import RankError
from .run_settings import TensorFlowSettings

Settings = TypeVar("Settings", bound=TensorFlowSettings)


def prepare(given: Settings, *, gradients: int) -> tuple[Settings, str]:
    """Set up the device and connect the ranks, before anything is computed.

    Args:
        given: The command line.
        gradients: Gradients of a step.

    Returns:
        The settings with the values of the device, and the device's name.
    """
    connected = tensorflow_ranks.current()
    if given.xla != "off":
        # Before TensorFlow looks for devices, so before a GPU has decided on XLA; without XLA it has no effect.
        xla.limit_clusters(gradients)
    device = pin(connected.local_rank(), connected.local_size())
    settings = given.on_device(gpu=device != "cpu")
    tf.keras.mixed_precision.set_global_policy(settings.precision)
    if settings.xla == "on":
        tf.config.optimizer.set_jit("autoclustering")
    tf.keras.utils.set_random_seed(settings.seed)
    if settings.deterministic:
        tf.config.experimental.enable_op_determinism()
    # With the device that was chosen.
    connected.connect()
    return settings, device


def pin(local_rank: int, local_size: int) -> str:
    """Give each rank of a machine one GPU, or its share of the CPU's cores, and return the device's name.

    Call it before TensorFlow touches a device: the choice cannot be changed afterwards.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        _share_cores(local_size)
        return "cpu"
    if 1 < len(gpus) < local_size:
        raise RankError(
            f"{local_size} ranks on this machine, which has {len(gpus)} GPUs; start {len(gpus)} ranks or fewer on each"
        )
    # Where the scheduler shows a rank only one GPU, it is this rank's.
    gpu = gpus[local_rank % len(gpus)]
    tf.config.set_visible_devices(gpu, "GPU")
    # TensorFlow would reserve the whole memory at once and leave none to NCCL.
    tf.config.experimental.set_memory_growth(gpu, True)
    return str(tf.config.experimental.get_device_details(gpu).get("device_name", "gpu"))


def _share_cores(local_size: int) -> None:
    """Split the cores among the machine's ranks: TensorFlow would start a thread per core in each rank."""
    if "TF_NUM_INTRAOP_THREADS" not in os.environ:
        tf.config.threading.set_intra_op_parallelism_threads(share_of_cores(local_size))
