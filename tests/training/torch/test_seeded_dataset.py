import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from training.torch.epoch_sampler import Sample
from training.torch.sample_fingerprint import fingerprint
from training.torch.seeded_dataset import SeededDataset


class Noise(Dataset[Any]):
    """Samples that are random numbers of each kind."""

    classes = ("a", "b")

    def __len__(self) -> int:
        return 12

    def __getitem__(self, number: int) -> tuple[int, float, float, torch.Tensor]:
        assert type(number) is int
        return number, random.random(), float(np.random.rand()), torch.rand(2)


def test_a_sample_is_the_same_whatever_was_read_before() -> None:
    dataset = SeededDataset(Noise(), seed=1)
    alone = dataset[5]
    list(dataset[number] for number in range(12))
    assert fingerprint(dataset.__getitems__([3, 5])[1]) == fingerprint(dataset[5]) == fingerprint(alone)
    assert fingerprint(SeededDataset(Noise(), seed=2)[5]) != fingerprint(alone)
    assert fingerprint(dataset[Sample(5, 1)]) != fingerprint(alone)


def test_a_worker_gives_the_same_samples_as_the_process_of_the_training() -> None:
    def read(workers: int) -> list[str]:
        loader = DataLoader(
            SeededDataset(Noise(), 1), 4, num_workers=workers, multiprocessing_context="fork" if workers else None
        )
        return [fingerprint(batch) for batch in loader]

    assert read(0) == read(2)


def test_the_random_states_of_the_training_stay() -> None:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    expected = torch.rand(3), random.random(), np.random.rand()
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    dataset = SeededDataset(Noise(), 1)
    dataset[0]
    dataset.__getitems__([1, 2])
    assert torch.equal(torch.rand(3), expected[0])
    assert (random.random(), np.random.rand()) == expected[1:]


def test_a_data_set_that_reads_a_batch_at_once_does() -> None:
    class Batches(Noise):
        def __getitems__(self, numbers: list[int]) -> list[str]:
            assert {type(number) for number in numbers} == {int}
            return [f"{numbers} {random.random()}"] * len(numbers)

    dataset = SeededDataset(Batches(), 1)
    assert dataset.__getitems__([Sample(2, 0), Sample(4, 0)]) == dataset.__getitems__([Sample(2, 0), Sample(4, 0)])
    assert dataset.__getitems__([2, 4])[0].startswith("[2, 4] ")


def test_the_attributes_are_those_of_the_data_set() -> None:
    dataset = SeededDataset(Noise(), 1)
    assert (dataset.classes, len(dataset)) == (("a", "b"), 12)


def test_a_fingerprint_is_of_values_and_types() -> None:
    same = [{"image": torch.arange(3), "label": 1}, {"image": torch.arange(3), "label": 1}]
    assert fingerprint(same[0]) == fingerprint(same[1])
    others = [
        {"image": torch.arange(3.0), "label": 1},
        {"image": torch.arange(3), "label": 2},
        [torch.arange(3), 1],
        None,
    ]
    assert len({fingerprint(each) for each in [same[0], *others]}) == 5
