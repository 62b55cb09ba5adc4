"""What a Lustre file system can be told: its kind, size and speed, and what it shares with the bucket."""

from dataclasses import dataclass

from pydantic import ConfigDict

from training_cluster.storage import data_repository_rules, lustre_rules
from training_workloads.catalog.lustre import LUSTRE_SMALLEST_GIB, LUSTRE_THROUGHPUTS
from training_workloads.validation import enforce

__all__ = ["DataRepositorySpec", "LustreSpec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataRepositorySpec:
    """A folder of the file system that mirrors a prefix of the bucket.

    Objects appear as files, with their metadata read in when the link is made; new and changed objects follow, and new
    and changed files are exported as objects.

    Attributes:
        path: Folder in the file system, with a leading `/`. Default: its root.
        prefix: What the keys of the objects start with. Default: every object of the bucket.
        export_deletions: Whether `rm` on Lustre deletes the object in the bucket. Takes effect with the second key,
            `i_know_that_rm_deletes_objects`, only. Default: objects stay.
        i_know_that_rm_deletes_objects: The second key to `export_deletions`.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    path: str = "/"
    prefix: str = ""
    export_deletions: bool = False
    i_know_that_rm_deletes_objects: bool = False

    def __post_init__(self) -> None:
        """Checks what one link can know."""
        enforce(self, data_repository_rules.RULES)


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreSpec:
    """A Lustre 2.15 file system on SSD; its files are compressed with LZ4.

    Attributes:
        deployment_type: `PERSISTENT_2`, which is replicated in its zone, or `SCRATCH_2`, which loses files when a
            server fails. Default: PERSISTENT_2.
        capacity_gib: Storage in GiB: 1200 or a multiple of 2400; with EFA a multiple of 38400, 19200, 9600 or 4800 for
            the four throughput classes. Default: 1200.
        throughput_mbps_per_tib: Throughput class of PERSISTENT_2 in MB/s per TiB of storage: 125, 250, 500 or 1000.
            Default: 125; SCRATCH_2 has 200 and no choice.
        efa: Whether clients can reach it with EFA, on PERSISTENT_2 only. Default: TCP only.
        availability_zone: Name of the zone that it lives in. Default: the zone of the GPU nodes.
        data_repositories: Up to 8 links to the bucket. Default: one, root to root. Empty: none.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    deployment_type: str = "PERSISTENT_2"
    capacity_gib: int = LUSTRE_SMALLEST_GIB
    throughput_mbps_per_tib: int | None = None
    efa: bool = False
    availability_zone: str | None = None
    data_repositories: tuple[DataRepositorySpec, ...] = (DataRepositorySpec(),)

    def __post_init__(self) -> None:
        """Checks what FSx would refuse."""
        enforce(self, lustre_rules.RULES)

    @property
    def mbps_per_tib(self) -> int:
        """Throughput of each TiB in MB/s: the class that was asked for, else the deployment type's first."""
        if self.throughput_mbps_per_tib is not None:
            return self.throughput_mbps_per_tib
        return LUSTRE_THROUGHPUTS[self.deployment_type][0]
