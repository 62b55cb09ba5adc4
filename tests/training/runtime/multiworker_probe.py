"""Ask two ranks without Horovod about what they see of each other; rank zero prints the answers as JSON."""

import json

import numpy as np
import tensorflow as tf

import tests.training.without_horovod  # noqa: F401
from training.runtime import multiworker_ranks, ranks, tensorflow_ranks
from training.runtime.distributed import barrier, on_every_rank, on_rank_zero
from training.runtime.errors import UserError

multiworker_ranks.init()
connected = tensorflow_ranks.current()
connected.connect()
rank = ranks.rank()
answers: dict[str, object] = {}

answers["gathered"] = connected.gather({"rank": rank, "text": "é" * rank * 1000}, "gathered")
answers["broadcast"] = connected.gather(connected.broadcast(("only", rank), "broadcast"), "of ranks")
answers["average"] = connected.average(np.array([1, 2 + rank], np.float32), "average").tolist()
rows = connected.rows(np.array([rank, 7], np.int64), "rows")
answers["rows"] = [rows.tolist(), str(rows.dtype)]

variables = [tf.Variable([1.5 + rank, 2.0]), tf.Variable(5 + rank, dtype=tf.int64)]
connected.copy_variables(variables)
answers["copied"] = connected.gather([variable.numpy().tolist() for variable in variables], "of ranks")


def fail_on_rank_1() -> None:
    if rank == 1:
        raise UserError("seen by rank 1")


try:
    on_every_rank(fail_on_rank_1)
except UserError as error:
    answers["heard"] = connected.gather(str(error), "of ranks")
answers["of rank zero"] = connected.gather(on_rank_zero(lambda: ranks.size()), "of ranks")


def gradients(values: list[float], compression: str, groups: int) -> list[list[float]]:
    """Return the mean over the ranks of the gradients of `values` x weight, as each rank has it."""
    weights = [tf.Variable([1.0, 1.0]), tf.Variable([1.0])]

    @tf.function(autograph=False)
    def step(factors: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(factors[:2] * weights[0]) + tf.reduce_sum(factors[2:] * weights[1])
        return connected.mean_gradients(tape, loss, weights, compression=compression, groups=groups)

    # More than once: each all-reduce has another key.
    for _ in range(3):
        found = step(tf.constant(values))
    assert [each.dtype for each in found] == [tf.float32, tf.float32]
    found_here = np.concatenate([each.numpy() for each in found]).tolist()
    of_ranks: list[list[float]] = connected.gather([str(each) for each in found_here], "of ranks")
    return of_ranks


for groups in (0, 1):
    answers[f"gradients in {groups} groups"] = gradients([1.0 + rank, 0.1, 3.0 - rank], "none", groups)
# The sum of these is infinite in float16, and their mean is not.
answers["gradients in float16"] = gradients([60000.0, 0.1, 60000.0], "fp16", 1)
answers["gradients with infinity"] = gradients([np.inf if rank else 1.0, 2.0, 3.0], "none", 1)

if rank == 0:
    print(json.dumps(answers), flush=True)
barrier()
