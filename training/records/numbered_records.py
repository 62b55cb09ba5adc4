"""The interface of every dataset: records with numbers from 0, each with an image and its annotations."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .tfrecords import DamagedRecordError

if TYPE_CHECKING:
    import tensorflow as tf


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
