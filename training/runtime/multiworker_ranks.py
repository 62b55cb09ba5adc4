"""The ranks that TensorFlow's MultiWorkerMirroredStrategy connects, where mpirun has started them; without Horovod.

The strategy connects the processes and averages the gradients. The model is not created in its scope: each rank has its
own variables, as under Horovod, and the same step changes them.
"""

import itertools
import os
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from . import devices, mpirun_environment, ranks, watchdog
from .errors import RankError
from .mpirun_environment import PORT, MpirunRanks
from .tensorflow_ranks import TensorFlowRanks

# Any number that is not one of the strategy's own, which count from 1.
_GROUP = 1_000_000

# Gradients of this size are sent while others are computed: as in the example of tf.distribute's CommunicationOptions.
_PACK_BYTES = 50 * 1024 * 1024

# The type that TensorFlow's operations for groups take on every device.
_WORD = np.dtype(np.int64)


class MultiworkerRanks(TensorFlowRanks):
    """The ranks of a cluster, whose processes do not change."""

    def __init__(self, cluster: MpirunRanks, strategy: tf.distribute.Strategy | None = None) -> None:
        """Connect nothing yet.

        Args:
            cluster: Where the ranks are.
            strategy: Strategy of a script that has connected them. Default: connects them when it is needed.
        """
        super().__init__(cluster.rank, cluster.size, cluster.local_rank, cluster.local_size)
        self._cluster, self._strategy = cluster, strategy
        self._keys = itertools.count(1)

    def connect(self) -> None:
        """Wait for the other ranks; TensorFlow must have chosen its device, and computed nothing."""
        if self._strategy is not None:
            return
        # An error of the command line may come before the program has chosen it; again it changes nothing.
        devices.pin(self.local_rank(), self.local_size())
        # A rank that waits for one that never comes ends.
        watchdog.progress()
        os.environ["TF_CONFIG"] = self._cluster.tf_config()
        try:
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy()
        except tf.errors.UnknownError as error:
            own = self._cluster.addresses[self.rank()]
            raise RankError(
                f"TensorFlow cannot start its server at {own} ({error.message}); where another program has the port, "
                f"give mpirun '-x {PORT}=' with another"
            ) from error
        watchdog.finished()

    def gather(self, value: Any, name: str) -> list[Any]:
        """Return the values of all ranks on every rank."""
        own = np.frombuffer(pickle.dumps(value), np.uint8)
        lengths = self._gathered(np.array([len(own)], _WORD))
        row = np.zeros(_whole_words(int(lengths.max())), np.uint8)
        row[: len(own)] = own
        rows = self._gathered(row.view(_WORD)).reshape(self.size(), -1)
        return [pickle.loads(row.tobytes()[:length]) for row, length in zip(rows, lengths, strict=True)]

    def broadcast(self, value: Any, name: str) -> Any:
        """Return rank zero's value on every rank."""
        own = np.frombuffer(pickle.dumps(value), np.uint8) if self.rank() == 0 else np.empty(0, np.uint8)
        length = int(self._broadcast(np.array([len(own)], _WORD))[0])
        row = np.zeros(_whole_words(length), np.uint8)
        row[: len(own)] = own
        sent = self._broadcast(row.view(_WORD))
        return value if self.rank() == 0 else pickle.loads(sent.tobytes()[:length])

    def rows(self, vector: NDArray[Any], name: str) -> NDArray[Any]:
        """Return the vectors of all ranks, a row each."""
        return np.stack(self.gather(vector, name))

    def average(self, vector: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Return the mean of the vectors of all ranks."""
        with self._on_cpu():
            mean = tf.raw_ops.CollectiveReduceV2(
                input=vector, ordering_token=[], merge_op="Add", final_op="Div", **self._next()
            )
        found: NDArray[np.float32] = mean.numpy()
        return found

    def copy_variables(self, variables: Sequence[ranks.Variable]) -> None:
        """Give the variables of every rank the values of rank zero."""
        own = [variable.numpy() for variable in variables] if self.rank() == 0 else None
        for variable, value in zip(variables, self.broadcast(own, "variables"), strict=True):
            if self.rank() > 0:
                variable.assign(value)

    def mean_gradients(
        self,
        tape: tf.GradientTape,
        loss: tf.Tensor,
        weights: Sequence[tf.Variable],
        *,
        compression: str,
        groups: int,
    ) -> list[tf.Tensor]:
        """Return the mean over the ranks of the gradients of each rank's loss; part of a graph."""
        assert self._strategy
        gradients = list(tape.gradient(loss, weights))
        given = [gradient.dtype for gradient in gradients]
        if compression == "fp16":
            # Divided before: in float16 the sum of many ranks would be infinite before its parts are.
            gradients = [tf.cast(gradient / self.size(), tf.float16) for gradient in gradients]
        operation = tf.distribute.ReduceOp.SUM if compression == "fp16" else tf.distribute.ReduceOp.MEAN
        # In one pack the gradients of more than two ranks always add up in the same order.
        options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=0 if groups else _PACK_BYTES)

        def reduced(*values: tf.Tensor) -> list[tf.Tensor]:
            # The strategy looks at the device of each value: that of a gradient is not known in a graph.
            placed = [tf.identity(value) for value in values]
            return list(tf.distribute.get_replica_context().all_reduce(operation, placed, options))

        means = self._strategy.run(reduced, args=tuple(gradients))
        return [tf.cast(mean, dtype) for mean, dtype in zip(means, given, strict=True)]

    def _gathered(self, words: NDArray[Any]) -> NDArray[Any]:
        """Return the words of all ranks, which must have the same number of them."""
        with self._on_cpu():
            gathered = tf.raw_ops.CollectiveGatherV2(input=words, ordering_token=[], **self._next())
        found: NDArray[Any] = gathered.numpy()
        return found

    def _broadcast(self, words: NDArray[Any]) -> NDArray[Any]:
        """Return the words of rank zero; the other ranks must give the same number of them."""
        with self._on_cpu():
            if self.rank() == 0:
                sent = tf.raw_ops.CollectiveBcastSendV2(input=words, **self._next())
            else:
                sent = tf.raw_ops.CollectiveBcastRecvV2(shape=words.shape, T=tf.int64, **self._next())
        found: NDArray[Any] = sent.numpy()
        return found

    def _on_cpu(self) -> Any:
        """Connect, and keep values in the machine's memory: an exchange of a few numbers does not wait for a GPU."""
        self.connect()
        return tf.device(f"/job:worker/replica:0/task:{self.rank()}/device:CPU:0")

    def _next(self) -> dict[str, Any]:
        """Return the description of every rank's next operation: the same, because all call them in the same order."""
        return {"group_size": self.size(), "group_key": _GROUP, "instance_key": next(self._keys)}


def _whole_words(length: int) -> int:
    """Return the bytes of the words that hold a number of bytes."""
    return -(-length // _WORD.itemsize) * _WORD.itemsize


def init() -> None:
    """Find the other ranks; without mpirun this one is alone.

    Raises:
        UserError: The environment does not say where the ranks are.
    """
    cluster = mpirun_environment.find(os.environ)
    ranks.use(MultiworkerRanks(cluster) if cluster.size > 1 else TensorFlowRanks())
