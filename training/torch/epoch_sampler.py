"""The order of a rank's samples in an epoch, in place of PyTorch's `DistributedSampler`."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ..records import epoch_order
from ..runtime import ranks
from ..runtime.errors import UserError
from ..runtime.position import Position


class Sample(int):
    """The number of a sample, which also says for which epoch it is read."""

    epoch: int

    def __new__(cls, number: int, epoch: int) -> "Sample":
        """Make the number."""
        made = super().__new__(cls, number)
        made.epoch = epoch
        return made

    def __reduce__(self) -> tuple[type["Sample"], tuple[int, int]]:
        return Sample, (int(self), self.epoch)


class EpochSampler(torch.utils.data.Sampler[int]):
    """Deals out the samples that an epoch has left, a complete batch of each rank at a time.

    Every epoch has another order of all samples. The last samples of an order, too few for a step of all ranks, are
    left out.

    Attributes:
        samples: Samples of the data set.
        batch_size: Samples of each rank and step.
        position: Where the run is; the run keeps it up to date.
    """

    def __init__(self, samples: int, *, batch_size: int, seed: int) -> None:
        """Begin at the first epoch.

        Raises:
            UserError: The samples fill no step.
        """
        if type(batch_size) is not int or batch_size < 1:
            raise UserError(f"'batch_size' is {batch_size!r}; give a whole number, 1 or more")
        if samples < batch_size * ranks.size():
            raise UserError(
                f"the data set has {samples} samples, but a step takes {batch_size} x {ranks.size()} ranks = "
                f"{batch_size * ranks.size()}; give a 'batch_size' of {max(1, samples // ranks.size())} or less, fewer "
                "ranks, or more samples"
            )
        self.samples, self.batch_size, self.position = samples, batch_size, Position()
        self._seed = seed

    def __len__(self) -> int:
        """Return the samples of this rank in the whole epoch, those before a resume included."""
        return (self.done + len(self.remaining())) * self.batch_size

    def __iter__(self) -> Iterator[int]:
        epoch = self.position.epoch
        for batch in self.remaining():
            for number in batch.tolist():
                yield Sample(number, epoch)

    @property
    def done(self) -> int:
        """Steps of the epoch that are done."""
        return sum(segment.steps for segment in self.position.segments)

    def remaining(self) -> NDArray[np.int64]:
        """Return the numbers of the samples that this rank has left in the epoch, a row for each step."""
        size, epoch = ranks.size(), self.position.epoch
        finished, first = epoch_order.resume(self.position.segments, size, self.batch_size)
        order = epoch_order.training(
            self.samples,
            finished,
            batch_size=self.batch_size,
            rank=ranks.rank(),
            size=size,
            seed=self._seed,
            epoch=epoch,
        )
        # Records are dealt out as blocks, for file systems. Samples of a data set are often sorted by their class, and
        # a rank would see few of them.
        mixed = np.random.default_rng((self._seed, epoch)).permutation(self.samples)
        left: NDArray[np.int64] = mixed[order.numbers[first:]]
        return left
