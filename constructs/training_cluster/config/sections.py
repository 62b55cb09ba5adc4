"""The sections of the configuration file with keys that the file alone has: which zones, of those in the VPC."""

from pydantic import Field

from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.storage.lustre_spec import LustreSpec

__all__ = ["GpuNodeGroupConfig", "LustreConfig"]


class GpuNodeGroupConfig(GpuNodeGroupSpec):
    """A GPU node group.

    Attributes:
        availability_zone: The training zone, or one of `lustre.further_zones`. Default: the training zone.
    """

    availability_zone: str | None = Field(default=None, examples=["us-east-1a"])


class LustreConfig(LustreSpec):
    """The Lustre file system.

    Attributes:
        availability_zone: The training zone, which nodes and file system share. Default: the first zone.
        further_zones: Zones of other node groups, each of which gets a file system like this one, with the claim
            `training-lustre-<zone>`. Default: none.
    """

    availability_zone: str | None = Field(default=None, examples=["us-east-1a"])
    further_zones: tuple[str, ...] = Field(default=(), examples=["[us-east-1b]"])
