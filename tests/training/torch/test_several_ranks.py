"""Runs on several ranks."""

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from tests.training.torch import connected_ranks
from training.torch import ResumableRun


class Numbered(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        return torch.full((4,), number / 48), number


def train(output: Path, *, until: int | None, kind: str = "ddp") -> tuple[list[int], list[bytes]]:
    """Return the samples of this rank, and its tensors; end as a killed rank does after so many steps of this start."""
    torch.manual_seed(dist.get_rank() if kind == "apart" else 0)
    layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 1))
    model: Any = layers
    if kind == "sharded":
        model = fully_shard(layers, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    elif kind == "ddp":
        model = DistributedDataParallel(layers, broadcast_buffers=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    run = ResumableRun(output, model=model, optimizer=optimizer, seed=1, checkpoint_every="1steps")
    loader = run.loader(Numbered(), 4)
    seen: list[int] = []
    for _ in run.epochs(1):
        for inputs, numbers in run.batches(loader):
            if until is not None and len(seen) == until * 4:
                return seen, []
            seen += numbers.tolist()
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
    return seen, [each.numpy().tobytes() for each in map(whole, layers.state_dict().values())]


def whole(tensor: Any) -> torch.Tensor:
    """Return all values of a tensor, which may be sharded."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def start(size: int, folder: Path, name: str, *arguments: Any, **keywords: Any) -> list[Any]:
    store = folder / f"store-{name}"
    return connected_ranks.run(size, store, lambda: train(*arguments, **keywords))


def test_each_rank_has_its_own_statistics_again(tmp_path: Path) -> None:
    expected = start(2, tmp_path, "1", tmp_path / "undisturbed", until=None)
    assert expected[0][1] != expected[1][1]
    start(2, tmp_path, "2", tmp_path / "killed", until=3)
    resumed = start(2, tmp_path, "3", tmp_path / "killed", until=None)
    assert [bits for _, bits in resumed] == [bits for _, bits in expected]
    assert [seen for seen, _ in resumed] == [seen[12:] for seen, _ in expected]


def test_a_sharded_model_ends_with_the_same_bits(tmp_path: Path) -> None:
    expected = start(2, tmp_path, "1", tmp_path / "undisturbed", until=None, kind="sharded")
    start(2, tmp_path, "2", tmp_path / "killed", until=3, kind="sharded")
    resumed = start(2, tmp_path, "3", tmp_path / "killed", until=None, kind="sharded")
    assert [bits for _, bits in resumed] == [bits for _, bits in expected]


def test_each_sample_once_on_two_ranks_then_three_then_two(tmp_path: Path) -> None:
    seen: list[int] = []
    for place, (size, until) in enumerate([(2, 2), (3, 1), (2, None)]):
        for numbers, _ in start(size, tmp_path, str(place), tmp_path / "run", until=until):
            seen += numbers
    # 16 + 12 + 16; the last four of 48 fill no step of two ranks.
    assert (len(seen), len(set(seen))) == (44, 44)


def test_rejects_ranks_that_train_apart(tmp_path: Path) -> None:
    assert start(2, tmp_path, "1", tmp_path / "run", until=None, kind="apart") == [2, 2]
