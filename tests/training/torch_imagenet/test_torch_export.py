"""The exported weights of a run whose disk is full."""

import resource
from pathlib import Path

import pytest

from tests.training.torch_imagenet.tiny_torch import tiny
from training.torch_imagenet import training_job


def test_a_disk_without_room_for_the_weights_is_an_error_of_the_system(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        # Which the program reports with its reason.
        with pytest.raises(OSError, match="File too large"):
            training_job._export(tiny(10), tmp_path / "model.pt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    # Neither half a file nor what was begun.
    assert list(tmp_path.iterdir()) == []
