import pytest
import tensorflow as tf

from training.runtime.errors import RankError
from training.runtime.training_run import memory_reported

LOWER = "'--batch-size' is 256: give 128 or less"


def test_a_tensor_that_does_not_fit_says_what_to_lower() -> None:
    with pytest.raises(RankError) as caught, memory_reported(LOWER):
        # 4 EB.
        tf.zeros([2**30, 2**30])
    message = str(caught.value)
    assert message.startswith("the memory does not suffice (")
    assert message.endswith(f"); {LOWER}")
    assert "\n" not in message


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[256,64]\nmore"),
        tf.errors.InternalError(None, None, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes."),
        tf.errors.InternalError(None, None, "Failed to run cuDNN: CUDNN_STATUS_ALLOC_FAILED"),
    ],
)
def test_recognizes_the_errors_of_tensorflow_xla_and_cudnn(error: tf.errors.OpError) -> None:
    with pytest.raises(RankError, match="the memory does not suffice"), memory_reported(LOWER):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "/run/tensorboard/events: No space left on device"),
        tf.errors.InternalError(None, None, "Blas GEMM launch failed"),
        tf.errors.UnknownError(None, None, "Horovod has been shut down"),
        ValueError("Out of memory"),
    ],
)
def test_keeps_other_errors(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, memory_reported(LOWER):
        raise error
    assert caught.value is error
