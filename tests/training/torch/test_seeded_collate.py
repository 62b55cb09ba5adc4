from collections.abc import Sequence

import torch

from training.torch.seeded_collate import SeededCollate
from training.torch.seeded_dataset import SeededDataset


def mask(samples: Sequence[int]) -> list[float]:
    return torch.rand(len(samples)).tolist()  # type: ignore[no-any-return]


def test_a_mask_depends_on_seed_epoch_and_samples_alone() -> None:
    dataset = SeededDataset([1, 2, 3], 1)
    collate = SeededCollate(mask, dataset)
    torch.manual_seed(0)
    first = collate([1, 2])
    assert torch.initial_seed() == 0
    torch.rand(5)
    assert collate([1, 2]) == first
    assert collate([1, 3]) != first
    assert SeededCollate(mask, SeededDataset([1, 2, 3], 2))([1, 2]) != first
    dataset.set_epoch(1)
    assert collate([1, 2]) != first
