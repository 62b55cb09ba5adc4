"""The values of the system nodes: their type, their number and their AMI."""

import re
from typing import Annotated, Any

from pydantic import Field

from training_cluster.nodes.ami_release import LATEST, AmiRelease, valid_name
from training_cluster.nodes.node_limits import min_size_is_at_most_max_size
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.versions import OTHER_SYSTEM_INSTANCE_TYPES, SYSTEM_INSTANCE_TYPE
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least

__all__ = ["SystemNodesSpec"]

# One in each of two zones.
_SYSTEM_NODES = 2

# Family, generation, processor and options, and size: https://docs.aws.amazon.com/ec2/latest/instancetypes/
_TYPE = re.compile(r"(?P<family>[a-z][a-z0-9-]*)\.(?P<size>[a-z0-9-]+)")
# AWS's own processors have a g after the generation, and the first had the family a1; the AMI is for x86.
_ARM = re.compile(r"[a-z]+[0-9]+g[a-z]*|a1")
# Daemons, add-ons and launchers of 2 GiB do not fit on them.
_TOO_SMALL = ("nano", "micro", "small", "medium")
_EXAMPLES = f"{SYSTEM_INSTANCE_TYPE} or {OTHER_SYSTEM_INSTANCE_TYPES[0]}"


def _system_type(name: str, value: Any) -> Problems:
    """Reject types on which the system nodes' AMI or the cluster's services do not run."""
    found = _TYPE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        yield Problem(path=(name,), given=value, fix=f"give an EC2 type with x86 processors, such as {_EXAMPLES}")
    elif _ARM.fullmatch(found["family"]):
        allowed = "it has Arm processors, and the AMI of the system nodes is for x86"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=f"give another one, such as {_EXAMPLES}")
    elif found["size"] in _TOO_SMALL:
        allowed = "the launchers and the cluster's services do not fit on it"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=f"give a larger one, such as {_EXAMPLES}")
    elif value in INSTANCE_TYPES and INSTANCE_TYPES[value].gpu is not None:
        allowed = "it has GPUs, which no system node needs"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=f"define it in node_groups, and give {_EXAMPLES}")


class SystemNodesSpec(Spec):
    """The nodes of the operator, the launchers and the cluster's own services.

    Attributes:
        instance_type: EC2 type without GPUs, with x86 processors, that each zone of the cluster offers. The default is
            not in every region that has GPUs.
        min_size: Minimum number of nodes, also at deployment; two are one in each of two zones.
        max_size: Maximum number of nodes, the limit of the autoscaler. Default: one more than `min_size`.
        ami_release: Release of the AL2023 AMI of EKS, such as 1.35.0-20260917, or `latest`: the newest when `cdk` first
            looks it up, which `cdk.context.json` keeps.
    """

    instance_type: Annotated[str, Checked(_system_type)] = SYSTEM_INSTANCE_TYPE
    min_size: Annotated[int, Checked(at_least, _SYSTEM_NODES)] = _SYSTEM_NODES
    max_size: Annotated[int, Checked(at_least, _SYSTEM_NODES)] | None = Field(default=None, examples=["4"])
    ami_release: AmiRelease = LATEST

    @property
    def maximum(self) -> int:
        """Return the maximum number of nodes."""
        return self.min_size + 1 if self.max_size is None else self.max_size


SystemNodesSpec.rule(min_size_is_at_most_max_size)


@SystemNodesSpec.rule
def ami_release_is_a_good_one(spec: SystemNodesSpec) -> Problems:
    """Reject digits that are not a day, and a release with a known fault."""
    yield from valid_name(spec.ami_release, "standard", spec.instance_type)
