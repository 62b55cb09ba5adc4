"""The registries that a cluster without NAT reaches: those of ECR in its region, through the interface endpoints."""

from collections.abc import Sequence

from training_workloads.platform.mirror import ecr_registry, mirror_in_partition, mirror_is_dual_stack, registry_region
from training_workloads.validation import MISSING, Path, Problem, Problems

__all__ = ["images_without_nat", "mirror_without_nat"]

_NAT: tuple[Path, ...] = (("nat",),)
_WITH_ZONES: tuple[Path, ...] = (*_NAT, ("availability_zones",))


def mirror_without_nat(mirror: str | None, region: str | None) -> Problems:
    """Reject a mirror that no endpoint leads to.

    Endpoints serve the address for IPv4 only, and `nat: false` makes those of the cluster's region:
    https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-requests.html and
    https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-cross-region-privatelink-support.html
    (read 2026-11-23)

    Args:
        mirror: The registry, or None.
        region: Region of the cluster; None where the configuration does not name it.
    """
    path = ("mirror",)
    if mirror is None:
        fix = "run 'trainctl platform mirror-commands <ECR registry>' to see how to copy charts and images there"
        yield Problem(path=path, given=MISSING, allowed="nat: false needs it", fix=fix, related=_NAT)
    elif mirror_is_dual_stack(mirror):
        allowed = "nat: false needs the address for IPv4, the only one that interface endpoints serve"
        fix = "give the registry with .dkr.ecr. in its address"
        yield Problem(path=path, given=mirror, allowed=allowed, fix=fix, related=_NAT)
    elif region and not any(ecr_registry("", mirror)) and not any(mirror_in_partition("", mirror, region)):
        yield from _of_the_region(path, mirror, mirror, region)


def images_without_nat(images: Sequence[str], region: str | None) -> Problems:
    """Reject images that a node without the internet cannot pull: a pod with one never starts.

    Args:
        images: Their addresses.
        region: Region of the cluster; None where the configuration does not name it.
    """
    for index, image in enumerate(images):
        path, registry = ("pre_pull_images", index), image.partition("/")[0]
        if any(ecr_registry("", registry)) or mirror_is_dual_stack(registry):
            allowed = "nat: false leaves private repositories in ECR only, by their addresses with .dkr.ecr."
            fix = "give the address of a copy in ECR of the cluster's region"
            yield Problem(path=path, given=image, allowed=allowed, fix=fix, related=_NAT)
        elif region:
            yield from _of_the_region(path, image, registry, region)


def _of_the_region(path: Path, given: str, registry: str, region: str) -> Problems:
    if (there := registry_region(registry)) != region:
        allowed = f"it is in {there}, and nat: false makes endpoints of {region} only, the region of availability_zones"
        fix = f"copy it to a registry of {region}, and give that address"
        yield Problem(path=path, given=given, allowed=allowed, fix=fix, related=_WITH_ZONES)
