"""The weights that a run leaves."""

from pathlib import Path
from typing import Any

import pytest
import torch

from training.torch_imagenet.training_job import _export


class _OnGpu:
    """What PyTorch would write as a tensor of a GPU: this machine has none."""

    def cpu(self) -> torch.Tensor:
        return torch.ones(2)


def test_the_weights_can_be_loaded_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network: Any = torch.nn.Linear(2, 2)
    monkeypatch.setattr(network, "state_dict", lambda: {"weight": _OnGpu()})
    _export(network, tmp_path / "model.pt")
    assert torch.load(tmp_path / "model.pt", weights_only=True)["weight"].tolist() == [1, 1]
