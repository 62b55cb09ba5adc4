import pytest

from training.resnet50.__main__ import parse
from training.resnet50.rank_images import load
from training.runtime.errors import UserError


def test_a_machine_without_a_gpu_does_not_decode_on_it() -> None:
    given = parse(["--data-dir", "data", "--output-dir", "o", "--decode", "gpu"])
    with pytest.raises(UserError) as caught:
        load(given, kept="off", dali=True, on_gpu=False)
    assert str(caught.value) == (
        "'--decode' is gpu, but this machine has no GPU that TensorFlow can use; give '--decode cpu'"
    )
