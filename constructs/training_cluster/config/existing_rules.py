"""Rules over the keys that name what exists: a cluster and the training on SageMaker have the same ones."""

from typing import Protocol

from training_cluster.config.existing import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
from training_workloads.validation import MISSING, Path, Problem, Problems
from training_workloads.yaml_lines import Typed

__all__ = ["EXISTING_RULES", "Site"]


class Site(Protocol):
    """What the rules read of a section."""

    @property
    def availability_zones(self) -> tuple[str, ...]:
        """Zones of the VPC."""

    @property
    def existing_vpc(self) -> ExistingVpcConfig | None:
        """A VPC in place of a new one."""

    @property
    def existing_lustre(self) -> ExistingLustreConfig | None:
        """A Lustre file system in place of a new one."""

    @property
    def existing_efs(self) -> ExistingEfsConfig | None:
        """An EFS file system in place of a new one."""

    @property
    def model_fields_set(self) -> set[str]:
        """The keys that the user gave."""


def an_existing_vpc_has_its_zones_named(config: Site) -> Problems:
    """A template does not look up the zones of subnets, and CDK needs them."""
    if config.existing_vpc and not config.availability_zones:
        allowed, fix = "existing_vpc needs it", "name the zones of private_subnet_ids, two or more, in the same order"
        related: tuple[Path, ...] = (("existing_vpc",),)
        yield Problem(path=("availability_zones",), given=MISSING, allowed=allowed, fix=fix, related=related)


def an_existing_vpc_has_a_subnet_in_each_zone(config: Site) -> Problems:
    """CDK matches zones and subnets by their order."""
    if not config.existing_vpc or not config.availability_zones:
        return
    if len(config.existing_vpc.private_subnet_ids) != len(config.availability_zones):
        yield Problem(
            path=("existing_vpc", "private_subnet_ids"),
            given=config.existing_vpc.private_subnet_ids,
            allowed=f"availability_zones is {', '.join(config.availability_zones)}",
            fix="give one subnet for each zone, in the same order",
            related=(("availability_zones",),),
        )


def existing_file_systems_are_in_an_existing_vpc(config: Site) -> Problems:
    """A new VPC has no way to the file system."""
    for key in ("existing_lustre", "existing_efs"):
        if getattr(config, key) is not None and config.existing_vpc is None:
            allowed, fix = f"{key} needs it", "name the VPC of the file system"
            yield Problem(path=("existing_vpc",), given=MISSING, allowed=allowed, fix=fix, related=((key,),))


def what_exists_is_not_described_too(config: Site) -> Problems:
    """The description would have no effect."""
    described = {"existing_vpc": ("vpc_cidr", "nat"), "existing_lustre": ("lustre",), "existing_efs": ("efs",)}
    for existing, keys in described.items():
        for key in keys if getattr(config, existing) is not None else ():
            value = getattr(config, key)
            # Not to want an EFS is no description.
            if key in config.model_fields_set and (key, value) != ("efs", False):
                given = Typed("a section") if key == "lustre" else value
                allowed = f"{existing} names what exists"
                yield Problem(path=(key,), given=given, allowed=allowed, fix="omit it", related=((existing,),))


EXISTING_RULES = (
    an_existing_vpc_has_its_zones_named,
    an_existing_vpc_has_a_subnet_in_each_zone,
    existing_file_systems_are_in_an_existing_vpc,
    what_exists_is_not_described_too,
)
