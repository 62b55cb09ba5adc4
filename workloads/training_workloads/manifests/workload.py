"""A workload as read from a file: groups of pods that run together; what has a wrong shape reads as empty."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import mapping
from training_workloads.validation import Path

__all__ = ["WorkloadView"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadView:
    """A document with pod templates; a subclass for each kind says where they are.

    Attributes:
        document: The whole of it.
    """

    document: Mapping[Any, Any]

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.document.get("kind"))

    @property
    def spec(self) -> Mapping[Any, Any]:
        """Its `spec`."""
        return mapping(self.document.get("spec"))

    @property
    def metadata(self) -> Mapping[Any, Any]:
        """Its `metadata`."""
        return mapping(self.document.get("metadata"))

    @property
    def labels(self) -> Mapping[Any, Any]:
        """Its labels."""
        return mapping(self.metadata.get("labels"))

    @property
    def groups(self) -> Sequence[PodGroup]:
        """All of its pods."""
        raise NotImplementedError

    @property
    def trains(self) -> bool:
        """Whether its pods train, by its kind or by what they run: only such pods need devices and fast networks."""
        return True

    @property
    def written_groups(self) -> Sequence[PodGroup]:
        """Those whose whole template is in the document."""
        return self.groups

    @property
    def rank_groups(self) -> Sequence[PodGroup]:
        """The pods that hold ranks."""
        return self.groups

    def source_path(self, path: Path) -> Path | None:
        """Return where the document has a value of the pods; None where another object may have it."""
        return path

    @property
    def containers(self) -> Iterator[Container]:
        """The containers of all pods, without init containers."""
        return (container for group in self.groups for container in group.containers)
