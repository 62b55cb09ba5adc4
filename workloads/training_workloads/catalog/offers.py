"""Whether EC2 offers an instance type, and where: as recorded, because only EC2 knows its offers of today.

`python -m setup.record_instance_types` writes the regions. Those of China and GovCloud are not recorded, and no check
covers them.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from training_workloads.catalog.instances import INSTANCE_TYPES, RETIRED_FAMILIES
from training_workloads.validation import Problem, Problems

__all__ = ["DEFAULT_INSTANCE_TYPE", "is_offered", "offered_regions"]

#: The default instance type of this library: the oldest type with several EFA interfaces.
DEFAULT_INSTANCE_TYPE = "p4d.24xlarge"

_FILE = "offered_regions.json"
_FEW_REGIONS = 5


@cache
def _recorded() -> dict[str, Any]:
    return dict(json.loads(resources.files(__package__).joinpath(_FILE).read_text()))


def offered_regions(instance_type: str) -> list[str]:
    """Return the regions in which EC2 offered a type when that was recorded; none for a retired or an unknown type."""
    return list(_recorded().get(instance_type, ()))


def is_offered(instance_type: str, *, region: str | None = None, consequence: str = "") -> Problems:
    """Yield a problem where AWS has retired a type, or does not offer it in a region: a warning, as only AWS decides.

    Of a type that the catalog lacks only the family counts. The consequence is a clause, such as `no node starts`.
    """
    instance = INSTANCE_TYPES.get(instance_type)
    path, then = ("instance_type",), f", so {consequence}" if consequence else ""
    if instance is None:
        family, dot, _ = instance_type.partition(".")
        if dot and (source := RETIRED_FAMILIES.get(family)):
            allowed = f"AWS has retired it ({source}) and EC2 offers it in no region{then}"
            yield Problem(path=path, given=instance_type, allowed=allowed, fix="choose another type")
    elif retired := instance.retired:
        allowed = f"AWS retired it on {retired.on} ({retired.source}) and EC2 offers it in no region{then}"
        yield Problem(path=path, given=instance_type, allowed=allowed, fix=f"choose {' or '.join(retired.successors)}")
    elif region in _recorded()["regions"] and region not in (offering := offered_regions(instance_type)):
        # A list of all 30 regions hides the answer.
        several = len(offering) > _FEW_REGIONS
        named = f"{', '.join(offering[:_FEW_REGIONS])}{' and others' if several else ''}"
        allowed = f"EC2 did not offer it in {region} on {_recorded()['recorded_on']}{then}"
        fix = f"choose another type, or a region that offers it ({named})"
        yield Problem(path=path, given=instance_type, allowed=allowed, fix=fix)
