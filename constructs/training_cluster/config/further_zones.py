"""The zones beside the training zone, each of which has a separate Lustre file system."""

from collections.abc import Collection, Sequence

from training_workloads.validation import Path, Problem, Problems

__all__ = ["valid_further_zones"]


def valid_further_zones(
    zones: Sequence[str], *, of_network: Sequence[str], training_zone: str | None, of_nodes: Collection[str | None]
) -> Problems:
    """Reject a second file system where there is none to make, or no node to read it.

    Args:
        zones: Those of `lustre.further_zones`.
        of_network: Zones in which the VPC has a subnet.
        training_zone: Zone of the first file system.
        of_nodes: Zones that node groups name.
    """
    path = ("lustre", "further_zones")
    related: tuple[Path, ...] = (("availability_zones",), ("lustre", "availability_zone"))
    for zone in zones:
        if zone not in of_network:
            allowed = f"availability_zones is {', '.join(of_network) or 'empty'}"
            yield Problem(path=path, given=zones, allowed=allowed, fix=f"add {zone} there", related=related)
        elif zone == training_zone:
            fix = f"omit {zone}: it has the first file system"
            yield Problem(path=path, given=zones, fix=fix, related=related)
        elif zone not in of_nodes:
            allowed, fix = f"no node group is in {zone}", f"give one 'availability_zone: {zone}', or omit the zone"
            yield Problem(path=path, given=zones, allowed=allowed, fix=fix, related=(*related, ("node_groups",)))
    if len(set(zones)) < len(zones):
        yield Problem(path=path, given=zones, fix="give each zone once")
