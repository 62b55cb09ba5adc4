"""What EKS does with a node that the node monitoring agent reports as unhealthy."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from aws_cdk import aws_eks_v2 as eks

from training_cluster.checks import valid_flag, valid_list, valid_string
from training_workloads.validation import Problem, Problems, at_least, enforce, known_names, one_of

__all__ = ["NodeRepair", "NodeRepairOverride", "valid_node_repair"]

RepairAction = Literal["Replace", "Reboot", "NoAction"]

# Those of the node monitoring agent, to which an override applies: "an unhealthy condition reported by the node
# monitoring agent". https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html (read 2026-11-23)
_CONDITIONS = ("AcceleratedHardwareReady", "ContainerRuntimeReady", "KernelReady", "NetworkingReady", "StorageReady")

_COUNTS = ("max_parallel_nodes_repaired_count", "max_unhealthy_node_threshold_count")
_PERCENTAGES = ("max_parallel_nodes_repaired_percentage", "max_unhealthy_node_threshold_percentage")


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRepairOverride:
    """Another action for one reason of an unhealthy node.

    https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html lists conditions, reasons and EKS's actions.

    Attributes:
        condition: What is unhealthy: one of the agent's five conditions, such as AcceleratedHardwareReady.
        reason: The agent's reason, such as NvidiaXID31Error.
        action: Replace, Reboot or NoAction.
        min_wait_minutes: Minutes for which the reason must hold. Default: 10, EKS's time for GPUs.
    """

    condition: str
    reason: str
    action: RepairAction
    min_wait_minutes: int = 10

    def __post_init__(self) -> None:
        """Validate the values."""
        enforce(self, (_condition, _reason, _action, _wait))

    def to_property(self) -> eks.CfnNodegroup.NodeRepairConfigOverridesProperty:
        """Return the property of CloudFormation."""
        return eks.CfnNodegroup.NodeRepairConfigOverridesProperty(
            node_monitoring_condition=self.condition,
            node_unhealthy_reason=self.reason,
            repair_action=self.action,
            min_repair_wait_time_mins=self.min_wait_minutes,
        )


def _faults_of_programs() -> tuple[NodeRepairOverride, ...]:
    """Return no action for what a reboot does not cure.

    XID 13 is typically a fault of software, 31 an access to memory that is not the program's. EKS would reboot the node
    ten minutes after each, under the restarted job
    (https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html#nvidia-xid-codes, read 2026-11-23).
    """
    return tuple(
        NodeRepairOverride(condition="AcceleratedHardwareReady", reason=f"NvidiaXID{code}Error", action="NoAction")
        for code in (13, 31)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRepair:
    """Limits of EKS's node auto repair, in its words: https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html.

    Attributes:
        enabled: Whether EKS repairs nodes.
        max_parallel_nodes_repaired_count: Nodes that are repaired at the same time. Default: 1, unless the percentage
            is given: what makes several nodes unhealthy at once is seldom their hardware.
        max_parallel_nodes_repaired_percentage: The same as a percentage of the unhealthy nodes.
        max_unhealthy_node_threshold_count: Unhealthy nodes above which EKS repairs none. Default: EKS's, which is 20 %
            in a group of more than five nodes.
        max_unhealthy_node_threshold_percentage: The same as a percentage of the group.
        overrides: Other actions than EKS's. Default: none for NvidiaXID13Error and NvidiaXID31Error, which programs
            cause; EKS would reboot the node.
    """

    enabled: bool = True
    max_parallel_nodes_repaired_count: int | None = None
    max_parallel_nodes_repaired_percentage: int | None = None
    max_unhealthy_node_threshold_count: int | None = None
    max_unhealthy_node_threshold_percentage: int | None = None
    overrides: tuple[NodeRepairOverride, ...] = field(default_factory=_faults_of_programs)

    def __post_init__(self) -> None:
        """Validate the values, and that no limit is given twice."""
        enforce(self, (_flag, _numbers, _one_unit, _overrides, _one_action, _nothing_without_repair))

    def to_property(self) -> eks.CfnNodegroup.NodeRepairConfigProperty:
        """Return the property of CloudFormation."""
        if not self.enabled:
            return eks.CfnNodegroup.NodeRepairConfigProperty(enabled=False)
        parallel = self.max_parallel_nodes_repaired_count
        if parallel is None and self.max_parallel_nodes_repaired_percentage is None:
            parallel = 1
        return eks.CfnNodegroup.NodeRepairConfigProperty(
            enabled=True,
            max_parallel_nodes_repaired_count=parallel,
            max_parallel_nodes_repaired_percentage=self.max_parallel_nodes_repaired_percentage,
            max_unhealthy_node_threshold_count=self.max_unhealthy_node_threshold_count,
            max_unhealthy_node_threshold_percentage=self.max_unhealthy_node_threshold_percentage,
            node_repair_config_overrides=[each.to_property() for each in self.overrides] or None,
        )


def valid_node_repair(value: Any) -> Problems:
    """Reject a `node_repair` that is not one."""
    if value is not None and not isinstance(value, NodeRepair):
        fix = "give a NodeRepair, such as NodeRepair(max_parallel_nodes_repaired_count=2)"
        yield Problem(path=("node_repair",), given=value, fix=fix)


def _condition(override: NodeRepairOverride) -> Problems:
    if wrong := list(valid_string("condition", override.condition, "AcceleratedHardwareReady")):
        yield from wrong
    elif override.condition not in _CONDITIONS:
        fix = known_names(override.condition, _CONDITIONS)
        yield Problem(path=("condition",), given=override.condition, fix=fix)


def _reason(override: NodeRepairOverride) -> Problems:
    if wrong := list(valid_string("reason", override.reason, "NvidiaXID31Error")):
        yield from wrong
    elif not override.reason.strip():
        fix = "give the agent's reason, such as NvidiaXID31Error"
        yield Problem(path=("reason",), given=override.reason, fix=fix)


def _action(override: NodeRepairOverride) -> Problems:
    yield from one_of("action", override.action, get_args(RepairAction))


def _wait(override: NodeRepairOverride) -> Problems:
    yield from at_least("min_wait_minutes", override.min_wait_minutes, 1)


def _flag(repair: NodeRepair) -> Problems:
    yield from valid_flag("enabled", repair.enabled)


def _numbers(repair: NodeRepair) -> Problems:
    for name in _COUNTS + _PERCENTAGES:
        if (value := getattr(repair, name)) is not None:
            yield from at_least(name, value, 1, *((100,) if name in _PERCENTAGES else ()))


def _one_unit(repair: NodeRepair) -> Problems:
    for count, percentage in zip(_COUNTS, _PERCENTAGES, strict=True):
        given = getattr(repair, count)
        if given is not None and getattr(repair, percentage) is not None:
            allowed = f"{percentage} is given too, and EKS takes one of them"
            yield Problem(path=(count,), given=given, allowed=allowed, fix="omit one", related=((percentage,),))


def _overrides(repair: NodeRepair) -> Problems:
    if wrong := list(valid_list("overrides", repair.overrides)):
        yield from wrong
        return
    for index, override in enumerate(repair.overrides):
        if not isinstance(override, NodeRepairOverride):
            yield Problem(path=("overrides", index), given=override, fix="give a NodeRepairOverride(...)")


def _one_action(repair: NodeRepair) -> Problems:
    if any(_overrides(repair)):
        return
    names = [(each.condition, each.reason) for each in repair.overrides]
    for index, name in enumerate(names):
        if name in names[:index]:
            first = f"overrides[{names.index(name)}]"
            allowed = f"{first} has this condition and reason too, and EKS takes one action for it"
            yield Problem(path=("overrides", index), given=" ".join(name), allowed=allowed, fix="omit one of the two")


def _nothing_without_repair(repair: NodeRepair) -> Problems:
    if repair.enabled is not False:
        return
    given = {name: getattr(repair, name) for name in _COUNTS + _PERCENTAGES}
    if not any(_overrides(repair)) and tuple(repair.overrides) != _faults_of_programs():
        given["overrides"] = repair.overrides
    for name, value in given.items():
        if value is not None:
            allowed, fix = "with enabled false EKS repairs no node", "omit it, or omit enabled"
            yield Problem(path=(name,), given=value, allowed=allowed, fix=fix, related=(("enabled",),))
