import numpy as np
import pytest

from training.digits.__main__ import batches, epoch_order, shard

SIZES = [(1437, 16, 1), (1437, 16, 2), (1437, 16, 3), (1437, 64, 4), (10, 4, 2), (9, 2, 4)]


@pytest.mark.parametrize(("images", "batch_size", "size"), SIZES)
def test_each_image_goes_to_one_rank_once(images: int, batch_size: int, size: int) -> None:
    order = epoch_order(images, seed=0, epoch=0)
    seen = [
        index
        for rank in range(size)
        for batch in batches(order, batch_size, rank, size)
        for index in batch.indices[batch.weights == 1]
    ]
    assert sorted(seen) == list(range(images))


@pytest.mark.parametrize(("images", "batch_size", "size"), SIZES)
def test_every_rank_makes_the_same_steps_in_batches_of_one_shape(images: int, batch_size: int, size: int) -> None:
    order = epoch_order(images, seed=0, epoch=0)
    ranks = [list(batches(order, batch_size, rank, size)) for rank in range(size)]
    assert len({len(steps) for steps in ranks}) == 1
    assert {len(batch.indices) for steps in ranks for batch in steps} == {batch_size}
    for step in zip(*ranks, strict=True):
        assert {batch.global_count for batch in step} == {sum(batch.weights.sum() for batch in step)}


def test_parts_of_ten_images() -> None:
    order = np.arange(10)
    assert shard(order, rank=0, size=3).tolist() == [0, 3, 6, 9]
    assert shard(order, rank=2, size=3).tolist() == [2, 5, 8]


def test_two_ranks_see_in_each_step_what_one_sees_with_twice_the_batch() -> None:
    order = epoch_order(101, seed=3, epoch=1)
    both = zip(batches(order, 8, 0, 2), batches(order, 8, 1, 2), strict=True)
    for (first, second), whole in zip(both, batches(order, 16, 0, 1), strict=True):
        apart = np.concatenate([first.indices[first.weights == 1], second.indices[second.weights == 1]])
        assert sorted(apart) == sorted(whole.indices[whole.weights == 1])


def test_order_depends_on_seed_and_epoch_alone() -> None:
    order = epoch_order(1437, seed=1, epoch=2)
    assert (order == epoch_order(1437, seed=1, epoch=2)).all()
    assert (order != epoch_order(1437, seed=2, epoch=2)).any()
    assert (order != epoch_order(1437, seed=1, epoch=3)).any()
