"""The section `lustre` of the configuration file."""

from dataclasses import dataclass

from pydantic import ConfigDict

from training_cluster.storage.lustre_spec import LustreSpec

__all__ = ["LustreConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreConfig(LustreSpec):
    """A Lustre file system and its zone.

    Attributes:
        availability_zone: Name of its zone. Default: the zone of the GPU nodes.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    availability_zone: str | None = None
