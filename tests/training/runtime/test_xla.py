import os
import subprocess
import sys

import pytest

from tests.training.mpirun import PATIENCE, ROOT
from training.runtime import xla
from training.runtime.errors import UserError


@pytest.mark.parametrize(("gradients", "size"), [(161, 80), (200, 100), (10, 5), (1, 4)])
def test_a_cluster_has_half_an_operation_for_each_gradient(gradients: int, size: int) -> None:
    assert xla.cluster_size(gradients) == size


def test_a_limit_of_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_max_cluster_size=9")
    xla.limit_clusters(161)
    assert os.environ["TF_XLA_FLAGS"] == "--tf_xla_auto_jit=2 --tf_xla_max_cluster_size=9"


def test_a_file_of_flags_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "flags.txt")
    with pytest.raises(UserError) as caught:
        xla.limit_clusters(161)
    assert str(caught.value) == "'TF_XLA_FLAGS' is 'flags.txt', the name of a file; give the flags themselves"


_PROGRAM = """
import os
import sys

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session

from training.runtime import xla

if "late" in sys.argv:
    tf.config.list_physical_devices()
try:
    xla.limit_clusters(161)
except RuntimeError as error:
    print(error)
print(os.environ["TF_XLA_FLAGS"], bool(pywrap_tf_session.TF_GetXlaConstantFoldingDisabled()))
"""


def run(flags: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        cwd=ROOT,
        env=os.environ | {"TF_XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_the_limit_is_added_to_the_flags_of_the_user() -> None:
    # The flag by which the moment of reading shows keeps the user's value.
    given = "--tf_xla_disable_constant_folding"
    assert run(given) == [f"{given} --tf_xla_max_cluster_size=80 True"]


def test_a_limit_after_tensorflow_has_read_its_flags_is_an_error() -> None:
    error, *_ = run("", "late")
    assert error == (
        "TensorFlow read TF_XLA_FLAGS before --tf_xla_max_cluster_size=80 was in it; call limit_clusters before "
        "anything that looks for devices, such as tf.config.list_physical_devices"
    )
