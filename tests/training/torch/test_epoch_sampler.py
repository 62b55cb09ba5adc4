import pickle

import pytest

from training.runtime import ranks
from training.runtime.errors import UserError
from training.runtime.position import Position
from training.torch.epoch_sampler import EpochSampler, Sample


def numbers(rank: int, size: int, position: Position, batch_size: int = 4) -> list[int]:
    ranks.use(ranks.Ranks(rank, size))
    sampler = EpochSampler(96, batch_size=batch_size, seed=3)
    sampler.position = position
    return [int(each) for each in sampler]


def test_each_sample_once_and_in_another_order_in_each_epoch() -> None:
    first, second = numbers(0, 1, Position()), numbers(0, 1, Position(epoch=1))
    assert sorted(first) == sorted(second) == list(range(96))
    assert first != second != list(range(96))


def test_each_sample_once_with_two_ranks_then_three_then_two() -> None:
    position, seen = Position(), list[int]()
    for size, steps in ((2, 3), (3, 2), (2, 6)):
        of_ranks = [numbers(rank, size, position) for rank in range(size)]
        assert len({len(each) for each in of_ranks}) == 1
        seen += [number for each in of_ranks for number in each[: steps * 4]]
        for _ in range(steps):
            position = position.after_step(size, 4)
    assert sorted(seen) == list(range(96))


def test_the_same_ranks_continue_the_order() -> None:
    position = Position()
    whole = numbers(1, 2, position)
    for step in range(1, 4):
        position = position.after_step(2, 4)
        assert numbers(1, 2, position) == whole[step * 4 :]


def test_a_rank_sees_all_parts_of_a_sorted_data_set() -> None:
    parts = [sum(number < 48 for number in numbers(rank, 2, Position())) for rank in range(2)]
    assert all(15 < count < 33 for count in parts)


def test_the_length_is_that_of_the_whole_epoch() -> None:
    sampler = EpochSampler(96, batch_size=4, seed=3)
    assert len(sampler) == 96
    sampler.position = Position().after_step(1, 4)
    assert (sampler.done, len(sampler), len(list(sampler))) == (1, 96, 92)


def test_a_number_reaches_a_worker_with_its_epoch() -> None:
    found = pickle.loads(pickle.dumps(Sample(7, 3)))
    assert (found, found.epoch) == (7, 3)


def test_rejects_a_batch_that_is_larger_than_the_data_set() -> None:
    ranks.use(ranks.Ranks(0, 4))
    with pytest.raises(
        UserError, match=r"has 96 samples, but a step takes 32 x 4 ranks = 128; give a 'batch_size' of 24"
    ):
        EpochSampler(96, batch_size=32, seed=0)
    with pytest.raises(UserError, match="'batch_size' is 0; give a whole number, 1 or more"):
        EpochSampler(96, batch_size=0, seed=0)
