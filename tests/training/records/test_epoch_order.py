from collections.abc import Sequence

import numpy as np
import pytest

from training.records import epoch_order
from training.records.epoch_order import Order, evaluation, own_range, resume
from training.runtime.position import Segment


def deal(
    records: int, size: int, batch_size: int, segments: Sequence[Segment] = (), seed: int = 0, epoch: int = 0
) -> list[Order]:
    return [
        epoch_order.training(records, segments, batch_size=batch_size, rank=rank, size=size, seed=seed, epoch=epoch)
        for rank in range(size)
    ]


def segment(world_size: int, batch_size: int, steps: int) -> Segment:
    return Segment(world_size=world_size, batch_size=batch_size, steps=steps)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("records", [240, 9999])
def test_an_epoch_has_every_record_once_except_an_incomplete_batch(size: int, records: int) -> None:
    orders = deal(records, size, 10)
    assert {order.numbers.shape for order in orders} == {(records // (10 * size), 10)}
    numbers = np.concatenate([order.numbers.ravel() for order in orders])
    assert len(set(numbers.tolist())) == len(numbers) > records - 10 * size
    assert (numbers.min() >= 0, numbers.max() < records) == (True, True)
    assert all((order.weights == 1).all() for order in orders)


@pytest.mark.parametrize(
    "trained",
    [
        [(2, 5, 7), (3, 5, 4), (1, 5, 10), (8, 5, 2)],
        [(1, 5, 1), (2, 7, 3), (2, 5, 20)],
        [(8, 5, 25)],
        [(3, 5, 0), (3, 7, 1)],
    ],
)
def test_no_record_repeats_when_the_number_of_ranks_changes(trained: list[tuple[int, int, int]]) -> None:
    seen: list[int] = []
    segments: list[Segment] = []
    for size, batch_size, steps in trained:
        for order in deal(1000, size, batch_size, segments):
            seen += order.numbers[:steps].ravel().tolist()
        segments.append(segment(size, batch_size, steps))
    for order in deal(1000, 2, 5, segments):
        seen += order.numbers.ravel().tolist()
    assert len(seen) == len(set(seen)) > 990
    assert set(seen) <= set(range(1000))


def test_the_rest_of_an_epoch_has_only_complete_steps() -> None:
    # 1,000 less 2 x 5 x 7 are 930, which are 62 steps of 3 x 5.
    assert [len(order) for order in deal(1000, 3, 5, [segment(2, 5, 7)])] == [62, 62, 62]
    assert [len(order) for order in deal(20, 3, 7)] == [0, 0, 0]


def test_the_order_depends_only_on_seed_epoch_and_rank() -> None:
    first, again = deal(500, 2, 10), deal(500, 2, 10)
    assert all((a.numbers == b.numbers).all() for a, b in zip(first, again, strict=True))
    for other in (deal(500, 2, 10, seed=1), deal(500, 2, 10, epoch=1)):
        assert (first[0].numbers != other[0].numbers).mean() > 0.9
    assert (first[0].numbers != first[1].numbers - 250).mean() > 0.9


def test_a_rank_has_the_same_records_in_every_epoch() -> None:
    for epoch in range(3):
        for rank, order in enumerate(deal(100_000, 4, 100, epoch=epoch)):
            assert (order.numbers.min() // 25_000, order.numbers.max() // 25_000) == (rank, rank)


def test_shares_differ_by_at_most_one_record() -> None:
    assert [own_range(11, rank, 3) for rank in range(3)] == [range(4), range(4, 8), range(8, 11)]
    assert own_range(1, 1, 2) == range(0)


def test_the_order_is_well_mixed() -> None:
    (order,) = deal(100_000, 1, 100)
    numbers = order.numbers.ravel()
    # Uniform numbers have a mean distance of a third.
    assert 0.30 < np.abs(np.diff(numbers)).mean() / 100_000 < 0.36
    assert abs(np.corrcoef(np.arange(len(numbers)), numbers)[0, 1]) < 0.2
    assert (np.diff(numbers) == 1).mean() < 0.01


def test_adjacent_records_are_read_at_about_the_same_time() -> None:
    (order,) = deal(100_000, 1, 100)
    place = np.argsort(order.numbers.ravel())
    blocks = place.reshape(-1, 16)
    # All 16 are within one window of 4,096, except blocks at the edge of two windows.
    assert (np.ptp(blocks, axis=1) < 4096).mean() > 0.98


def test_a_resumed_run_continues_its_segment() -> None:
    assert resume([], 2, 8) == ((), 0)
    assert resume([segment(2, 8, 5)], 2, 8) == ((), 5)
    assert resume([segment(1, 8, 3), segment(2, 8, 5)], 2, 8) == ((segment(1, 8, 3),), 5)


@pytest.mark.parametrize(("size", "batch_size"), [(3, 8), (2, 4)])
def test_another_size_or_batch_starts_a_segment(size: int, batch_size: int) -> None:
    assert resume([segment(2, 8, 5)], size, batch_size) == ((segment(2, 8, 5),), 0)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("records", [1, 20, 101])
def test_an_evaluation_counts_every_record_once(size: int, records: int) -> None:
    orders = [evaluation(records, batch_size=10, rank=rank, size=size) for rank in range(size)]
    counted = [order.numbers[order.weights == 1] for order in orders]
    assert np.concatenate(counted).tolist() == list(range(records))
    assert {order.numbers.shape for order in orders} == {(-(-records // (10 * size)), 10)}
    assert all(order.numbers.max() < records for order in orders)
