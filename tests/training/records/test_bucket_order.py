from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from training.records import epoch_order
from training.records.epoch_order import Order, check_buckets
from training.runtime.errors import UserError
from training.runtime.position import Segment


def deal(
    buckets: NDArray[Any], size: int, batch_size: int, segments: Sequence[Segment] = (), seed: int = 0, epoch: int = 0
) -> list[Order]:
    given: dict[str, Any] = {"batch_size": batch_size, "size": size, "seed": seed, "epoch": epoch}
    return [epoch_order.training(len(buckets), segments, rank=rank, **given, buckets=buckets) for rank in range(size)]


def segment(world_size: int, batch_size: int, steps: int) -> Segment:
    return Segment(world_size=world_size, batch_size=batch_size, steps=steps)


def buckets_of(order: Order, buckets: NDArray[Any]) -> NDArray[Any]:
    """Return the bucket of each step, by its first record."""
    found: NDArray[Any] = buckets[order.numbers[:, 0]]
    return found


def numbers_of(dealt: Sequence[Order], steps: int | None = None) -> NDArray[Any]:
    return np.concatenate([each.numbers[:steps].ravel() for each in dealt])


@dataclass(frozen=True)
class Case:
    """A drawn epoch: its records, and the numbers of ranks that train it one after another."""

    buckets: NDArray[Any]
    parts: list[tuple[int, int, float]]
    """Ranks, batch size, and which part of the steps that are left they do."""
    seed: int
    epoch: int


def draw(number: int) -> Case:
    random = np.random.default_rng(number)
    shares = random.dirichlet(np.ones(random.integers(1, 6)))
    return Case(
        buckets=random.choice(len(shares), size=int(random.integers(0, 3000)), p=shares),
        parts=[
            (int(random.integers(1, 9)), int(random.integers(1, 17)), float(random.random()))
            for _ in range(random.integers(1, 5))
        ],
        seed=int(random.integers(2**32)),
        epoch=int(random.integers(90)),
    )


@pytest.mark.parametrize("number", range(60))
def test_in_any_epoch_steps_have_one_bucket_and_no_record_repeats(number: int) -> None:
    case = draw(number)
    segments: list[Segment] = []
    left = len(case.buckets)
    seen: list[int] = []
    for size, batch_size, part in case.parts:
        dealt = deal(case.buckets, size, batch_size, segments, case.seed, case.epoch)
        steps = len(dealt[0])
        counts = np.bincount(np.delete(case.buckets, seen))
        assert steps == sum(count // (size * batch_size) for count in counts)
        for each in dealt:
            # All ranks agree on the bucket of every step, and have records of no other.
            assert buckets_of(each, case.buckets).tolist() == buckets_of(dealt[0], case.buckets).tolist()
            assert each.numbers.shape == each.weights.shape == (steps, batch_size)
            assert (case.buckets[each.numbers] == buckets_of(each, case.buckets)[:, np.newaxis]).all()
            assert (each.weights == 1).all()
        done = int(part * steps)
        seen += numbers_of(dealt, done).tolist()
        segments.append(segment(size, batch_size, done))
        left -= size * batch_size * done
        assert len(seen) == len(set(seen)) == len(case.buckets) - left


@pytest.mark.parametrize("number", range(20))
def test_the_same_ranks_resume_with_the_rest_of_the_same_epoch(number: int) -> None:
    case = draw(number)
    *before, (size, batch_size, part) = case.parts
    finished = [segment(ranks, batch, 2) for ranks, batch, _ in before]
    whole = deal(case.buckets, size, batch_size, finished, case.seed, case.epoch)
    done = int(part * len(whole[0]))
    # What a checkpoint in mid-epoch holds.
    over, first_step = epoch_order.resume([*finished, segment(size, batch_size, done)], size, batch_size)
    again = deal(case.buckets, size, batch_size, over, case.seed, case.epoch)
    assert (over, first_step) == (tuple(finished), done)
    assert numbers_of(again).tolist() == numbers_of(whole).tolist()


def test_an_epoch_has_every_record_once_except_an_incomplete_step_of_each_bucket() -> None:
    buckets = np.repeat([0, 1, 0, 2], [400, 305, 100, 41])
    dealt = deal(buckets, 2, 10)
    assert np.bincount(buckets_of(dealt[0], buckets)).tolist() == [25, 15, 2]
    numbers = numbers_of(dealt)
    assert len(set(numbers.tolist())) == len(numbers) == 840
    # 305 and 41 records fill 15 and 2 steps of 20.
    assert np.bincount(buckets[np.setdiff1d(np.arange(846), numbers)]).tolist() == [0, 5, 1]


def test_other_records_are_dropped_in_each_epoch() -> None:
    buckets = np.arange(99) % 3
    dropped = {
        int(record)
        for epoch in range(40)
        for record in np.setdiff1d(np.arange(99), numbers_of(deal(buckets, 2, 10, epoch=epoch)))
    }
    assert len(dropped) > 90


def test_the_order_depends_only_on_seed_epoch_and_rank() -> None:
    buckets = np.arange(2000) // 7 % 2
    first, again = deal(buckets, 2, 10), deal(buckets, 2, 10)
    assert numbers_of(first).tolist() == numbers_of(again).tolist()
    for other in (deal(buckets, 2, 10, seed=1), deal(buckets, 2, 10, epoch=1)):
        assert (numbers_of(first) != numbers_of(other)).mean() > 0.9
        assert (buckets_of(first[0], buckets) != buckets_of(other[0], buckets)).mean() > 0.3


def test_the_buckets_of_an_epoch_are_mixed() -> None:
    buckets = np.repeat([0, 1], 5000)
    (order,) = deal(buckets, 1, 10)
    # Half of the neighbors differ where a coin decides; one by one in turns, all would.
    assert 0.4 < (np.diff(buckets_of(order, buckets)) != 0).mean() < 0.6


def test_a_rank_has_the_same_records_in_every_epoch() -> None:
    # Shapes are mixed over the files, and so the share of every bucket is in about the same files.
    buckets = np.random.default_rng(0).integers(2, size=100_000)
    for epoch in range(3):
        for rank, dealt in enumerate(deal(buckets, 4, 100, epoch=epoch)):
            assert 25_000 * rank - 500 < dealt.numbers.min()
            assert dealt.numbers.max() < 25_000 * (rank + 1) + 500


@pytest.mark.parametrize(
    ("count", "ranks", "message"),
    [
        (
            63,
            8,
            "bucket 3 has 63 of the 1,063 training records, but a step takes 8 x 8 ranks = 64 of one bucket; give "
            "'--batch-size 7', or make fewer buckets",
        ),
        (
            5,
            16,
            "bucket 3 has 5 of the 1,005 training records, but a step takes 8 x 16 ranks = 128 of one bucket; start 5 "
            "ranks or fewer, or make fewer buckets",
        ),
    ],
)
def test_a_bucket_that_fills_no_step_is_rejected(count: int, ranks: int, message: str) -> None:
    with pytest.raises(UserError) as caught:
        check_buckets(np.repeat([0, 3], [1000, count]), batch_size=8, size=ranks)
    assert str(caught.value) == message


def test_full_and_unused_buckets_are_accepted() -> None:
    check_buckets(np.repeat([0, 3], [64, 64]), batch_size=8, size=8)


@pytest.mark.parametrize("number", range(20))
def test_an_evaluation_has_each_record_once_in_steps_of_one_bucket(number: int) -> None:
    case = draw(number)
    for size, batch_size, _ in case.parts:
        dealt = [
            epoch_order.evaluation(len(case.buckets), batch_size=batch_size, rank=rank, size=size, buckets=case.buckets)
            for rank in range(size)
        ]
        counted = [each.numbers[each.weights == 1] for each in dealt]
        assert sorted(np.concatenate(counted).tolist()) == list(range(len(case.buckets)))
        for each in dealt:
            assert buckets_of(each, case.buckets).tolist() == buckets_of(dealt[0], case.buckets).tolist()
            # Those that fill a batch are of its bucket too.
            assert (case.buckets[each.numbers] == buckets_of(each, case.buckets)[:, np.newaxis]).all()


def test_an_evaluation_by_hand() -> None:
    buckets = np.array([2, 0, 2, 2, 0])
    first, second = (epoch_order.evaluation(5, batch_size=2, rank=rank, size=2, buckets=buckets) for rank in (0, 1))
    assert buckets_of(first, buckets).tolist() == buckets_of(second, buckets).tolist() == [0, 2]
    assert first.numbers.tolist() == [[1, 1], [0, 2]]
    assert second.numbers.tolist() == [[4, 4], [3, 3]]
    assert first.weights.tolist() == [[1, 0], [1, 1]]
    assert second.weights.tolist() == [[1, 0], [1, 0]]
