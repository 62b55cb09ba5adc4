"""The data of a `fit`: each sample of an epoch once, whatever ranks come and go."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from training.keras import sources
from training.runtime import ranks
from training.runtime.errors import UserError
from training.runtime.position import Position

SAMPLES, BATCH = 60, 4


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    yield
    ranks.use(ranks.Ranks())


def _numbered() -> sources.Source:
    return sources.of((np.arange(SAMPLES), None, None), batch_size=BATCH, samples=None, seed=1, workers=1)


def _from_dataset() -> sources.Source:
    def make(epoch: Any, own: Any) -> Any:
        numbers = tf.data.Dataset.range(SAMPLES).shuffle(SAMPLES, seed=epoch, reshuffle_each_iteration=False)
        return own(numbers).map(lambda number: (number,)).batch(BATCH)

    return sources.DatasetSource(make, samples=SAMPLES, batch_size=BATCH)


@pytest.mark.parametrize("make", [_numbered, _from_dataset])
def test_two_then_three_then_two_ranks_train_each_sample_once(make: Any) -> None:
    trained: Counter[int] = Counter()
    position = Position()
    for size, steps in ((2, 3), (3, 2), (2, None)):
        for rank in range(size):
            ranks.use(ranks.Ranks(rank, size))
            source = make()
            at = position
            left = source.steps_left(at)
            read = list(source.dataset(lambda at=at: at, endless=False))
            assert len(read) == left
            for (batch,) in read[:steps]:
                trained.update(batch.numpy().tolist())
        for _ in range(left if steps is None else steps):
            position = position.after_step(size, BATCH)
    # 24 + 24 + 8 of 60: what is left fills no step of two ranks.
    assert len(trained) == 56
    assert set(trained.values()) == {1}


@pytest.mark.parametrize("make", [_numbered, _from_dataset])
def test_the_rest_of_an_epoch_is_that_of_an_undisturbed_one(make: Any) -> None:
    epoch = [batch.numpy().tolist() for (batch,) in make().dataset(Position, endless=False)]
    position = Position()
    for _ in range(5):
        position = position.after_step(1, BATCH)
    rest = [batch.numpy().tolist() for (batch,) in make().dataset(lambda: position, endless=False)]
    assert rest == epoch[5:]


@pytest.mark.parametrize("make", [_numbered, _from_dataset])
def test_epochs_follow_each_other_in_another_order_each(make: Any) -> None:
    endless = iter(make().dataset(Position, endless=True))
    first, second = ([next(endless)[0].numpy().tolist() for _ in range(SAMPLES // BATCH)] for _ in range(2))
    assert first != second
    assert sorted(np.ravel(first)) == sorted(np.ravel(second)) == list(range(SAMPLES))
    next_epoch = make().dataset(lambda: Position(epoch=1), endless=False)
    assert [batch.numpy().tolist() for (batch,) in next_epoch] == second


@pytest.mark.parametrize("workers", [1, 3])
def test_a_sample_draws_the_same_whatever_was_read_before(workers: int) -> None:
    def sample(number: int, random: np.random.Generator) -> Any:
        return {"number": number, "drawn": random.random()}

    source = sources.of((sample, None, None), batch_size=BATCH, samples=SAMPLES, seed=1, workers=workers)
    drawn: dict[int, float] = {}
    for batch in source.dataset(Position, endless=False):
        drawn |= dict(zip(batch["number"].numpy().tolist(), batch["drawn"].numpy().tolist(), strict=True))
    assert drawn[7] == np.float32(np.random.default_rng([1, 0, 7]).random())
    assert len(set(drawn.values())) == SAMPLES


def test_a_sequence_of_batches_is_dealt_out_as_batches() -> None:
    class Sequence(tf.keras.utils.Sequence):
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            # The last batch of many sequences is smaller.
            return np.full((3 if index == 5 else 4, 2), index, "float64"), np.full(3 if index == 5 else 4, index)

    source = sources.of((Sequence(), None, None), batch_size=None, samples=None, seed=1, workers=1)
    batches = list(source.dataset(Position, endless=False))
    assert sorted(int(y[0]) for _, y in batches) == list(range(6))
    assert sorted(len(x) for x, _ in batches) == [3, 4, 4, 4, 4, 4]
    assert batches[0][0].dtype == tf.float32


def test_lists_are_arrays_or_several_inputs() -> None:
    inputs = [np.zeros((SAMPLES, 2)), np.zeros((SAMPLES, 3))]
    source = sources.of((inputs, [0] * SAMPLES, None), batch_size=BATCH, samples=None, seed=1, workers=1)
    assert tf.nest.map_structure(np.shape, source.example()) == (((4, 2), (4, 3)), (4,))


class Noisy(tf.keras.utils.Sequence):
    """Batches whose noise is of the generator that each gets."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, number: int, random: Any) -> Any:
        return random.normal(size=(4, 2)) + number


def test_a_sequence_may_draw_from_a_generator_of_the_batch_and_the_epoch() -> None:
    source = sources.of((Noisy(), None, None), batch_size=None, samples=None, seed=1, workers=1)
    first, again = ([batch.numpy() for batch in source.dataset(Position, endless=False)] for _ in range(2))
    assert np.array_equal(first, again)
    next_epoch = Position().after_epoch()
    assert not np.array_equal(sorted_sums(first), sorted_sums(source.dataset(lambda: next_epoch, endless=False)))


def sorted_sums(batches: Any) -> list[float]:
    return sorted(float(np.sum(batch)) for batch in batches)


def test_rejects_a_data_set_whose_samples_are_not_dealt_out() -> None:
    source = sources.DatasetSource(
        lambda epoch, own: tf.data.Dataset.range(SAMPLES).batch(BATCH), samples=SAMPLES, batch_size=BATCH
    )
    with pytest.raises(UserError, match="has not called its second parameter, so that every rank would train all"):
        source.example()


def test_rejects_a_data_set_in_place_of_a_function() -> None:
    with pytest.raises(UserError, match=r"'make' is .*Dataset, which is no function; give one that takes an epoch and"):
        sources.DatasetSource(tf.data.Dataset.range(SAMPLES), samples=SAMPLES, batch_size=BATCH)


@pytest.mark.parametrize("data", [iter(range(3)), tf.data.Dataset.range(3)])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_rejects_data_that_can_only_be_read_from_the_beginning(data: Any, batch_size: int | None) -> None:
    with pytest.raises(UserError, match=r"can only be read from its beginning; give resume\.dataset\(make, "):
        sources.of((data, None, None), batch_size=batch_size, samples=3, seed=1, workers=1)
