"""The interface of every dataset: records with numbers from 0, each with an image and its annotations."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from training.records.tfrecords import DamagedRecordError
from training.runtime.errors import UserError

if TYPE_CHECKING:
    import tensorflow as tf

Item = TypeVar("Item")
Result = TypeVar("Result")

# They mostly wait for the file system.
_THREADS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """The ranks that list the records together; the default is a single rank."""

    rank: int = 0
    size: int = 1
    gather: Callable[[Any], list[Any]] = lambda value: [value]
    """Returns the values of all ranks on every rank, as `Ranks.gather` does."""
    on_rank_zero: Callable[[Callable[[], Any]], Any] = lambda work: work()
    """Runs a function on rank zero and gives all ranks its value or its exception, as `distributed.on_rank_zero` does:
    a thousand names are listed once, and no rank ends alone because its machine has no such file."""

    def share(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply the work to every item, each rank to its part; return all results on every rank.

        Raises:
            UserError: On every rank, if one rank's work raises it.
        """
        own, failure = [], None
        try:
            with ThreadPoolExecutor(_THREADS) as pool:
                own = list(pool.map(work, items[self.rank :: self.size]))
        except UserError as error:
            failure = error
        outcomes = self.gather((own, failure))
        for _, other_failure in outcomes:
            if other_failure is not None:
                raise other_failure
        return [outcomes[place % self.size][0][place // self.size] for place in range(len(items))]


class Records(ABC):
    """The images of a split; any number of threads may read at once."""

    damage: Sequence[str] = ()
    """Missing and damaged parts of the split, a sentence each."""
    damaged: int = 0
    """The known number of damaged records."""
    fingerprint: Mapping[str, str] = MappingProxyType({})
    """An entry for each file, for `training.records.fingerprint.check`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def sizes(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return the bytes of each record on the disk."""

    @abstractmethod
    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Return the contents for `parse`.

        Raises:
            DamagedRecordError: One of the records is damaged.
            UserError: The operating system cannot read the file.
        """

    @abstractmethod
    def parse(self, contents: "tf.Tensor", numbers: "tf.Tensor") -> "tuple[tf.Tensor, ...]":
        """Return the parts of contents, as TensorFlow operations: a row for each record.

        Of classified images these are the JPEGs (strings) and the labels (int64, from 1).
        """

    @abstractmethod
    def image(self, content: bytes, number: int) -> tuple[bytes, int]:
        """Return the JPEG and the label (from 1) of a content of `read`, without TensorFlow.

        Raises:
            DamagedRecordError: The content is not that of a classified image.
        """

    @abstractmethod
    def where(self, number: int) -> str:
        """Return a record's file, and its place in it."""

    def damaged_record(self, number: int, reason: str) -> DamagedRecordError:
        """Return the error of a damaged record."""
        return DamagedRecordError(self.where(number), reason)
