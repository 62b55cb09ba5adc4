"""The weights that a run leaves."""

import resource
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.torch_imagenet.tiny_torch import tiny
from training.torch_imagenet.__main__ import export


class _OnGpu:
    """What PyTorch would write as a tensor of a GPU: this machine has none."""

    def cpu(self) -> torch.Tensor:
        return torch.ones(2)


def test_the_weights_can_be_loaded_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network: Any = torch.nn.Linear(2, 2)
    monkeypatch.setattr(network, "state_dict", lambda: {"weight": _OnGpu()})
    export(network, tmp_path / "model.pt")
    assert torch.load(tmp_path / "model.pt", weights_only=True)["weight"].tolist() == [1, 1]


def test_a_disk_without_room_for_the_weights_is_an_error_of_the_system(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        # Which the program reports with its reason.
        with pytest.raises(OSError, match="File too large"):
            export(tiny(10), tmp_path / "model.pt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    # Neither half a file nor what was begun.
    assert list(tmp_path.iterdir()) == []
