"""EKS's repair of nodes that the node monitoring agent reports as unhealthy."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, Literal

from aws_cdk import aws_eks_v2 as eks
from pydantic import Field

from training_cluster.nodes.repair_reasons import CONDITIONS, LATCHED, event_only, reason_of_the_condition
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least, known_names

__all__ = ["NodeRepair", "NodeRepairOverride"]

_COUNTS = ("max_parallel_nodes_repaired_count", "max_unhealthy_node_threshold_count")
_PERCENTAGES = ("max_parallel_nodes_repaired_percentage", "max_unhealthy_node_threshold_percentage")

_EXAMPLE = "NvidiaXID64Error"

_Count = Annotated[int, Checked(at_least, 1)]
_Percentage = Annotated[int, Checked(at_least, 1, 100)]


def _known(name: str, value: Any, names: Collection[str]) -> Problems:
    if value not in names:
        yield Problem(path=(name,), given=value, fix=known_names(str(value), names))


class NodeRepairOverride(Spec):
    """Another action for one reason of an unhealthy node.

    https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html lists conditions, reasons and EKS's actions.

    Attributes:
        condition: The agent's condition: AcceleratedHardwareReady, ContainerRuntimeReady, KernelReady, NetworkingReady
            or StorageReady.
        reason: The agent's reason with this condition, such as NvidiaXID64Error.
        action: Replace, Reboot or NoAction.
        min_wait_minutes: Minutes for which the reason must hold; EKS waits 10 for GPUs.
    """

    condition: Annotated[str, Checked(_known, CONDITIONS)] = Field(examples=["AcceleratedHardwareReady"])
    reason: str = Field(examples=[_EXAMPLE])
    action: Literal["Replace", "Reboot", "NoAction"] = Field(examples=["NoAction"])
    min_wait_minutes: _Count = 10

    def to_property(self) -> eks.CfnNodegroup.NodeRepairConfigOverridesProperty:
        """Return the property of CloudFormation."""
        return eks.CfnNodegroup.NodeRepairConfigOverridesProperty(
            node_monitoring_condition=self.condition,
            node_unhealthy_reason=self.reason,
            repair_action=self.action,
            min_repair_wait_time_mins=self.min_wait_minutes,
        )


@NodeRepairOverride.rule
def reason_is_one_of_the_agents(override: NodeRepairOverride) -> Problems:
    """Reject a reason that the agent never reports: EKS accepts it, and the override does nothing."""
    yield from reason_of_the_condition(override.condition, override.reason)


def _one_action_for_each_reason(name: str, overrides: Sequence[NodeRepairOverride]) -> Problems:
    """Reject two overrides of one condition and reason."""
    reasons = [(each.condition, each.reason) for each in overrides]
    for index, reason in enumerate(reasons):
        if reason in reasons[:index]:
            first = f"overrides[{reasons.index(reason)}]"
            allowed = f"{first} has this condition and reason too, and EKS takes one action for it"
            yield Problem(path=(name, index), given=" ".join(reason), allowed=allowed, fix="omit one of the two")


class NodeRepair(Spec):
    """Limits of EKS's node auto repair, in its words: https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html.

    Attributes:
        enabled: Whether EKS repairs nodes; without, the other values are rejected.
        max_parallel_nodes_repaired_count: Nodes that are repaired at the same time. Default: 1, unless the percentage
            is given: the cause of several unhealthy nodes at once is seldom their hardware.
        max_parallel_nodes_repaired_percentage: The same as a percentage of the unhealthy nodes.
        max_unhealthy_node_threshold_count: Unhealthy nodes above which EKS repairs none. Default: EKS's, which is 20 %
            in a group of more than five nodes.
        max_unhealthy_node_threshold_percentage: The same as a percentage of the group.
        overrides: Other actions than EKS's. An alarm that the agent raises for one line of a log and never takes back
            (IPAMDNotReady) leads to no repair, unless one names its reason: a node that is cut off is NotReady too.
    """

    enabled: bool = True
    max_parallel_nodes_repaired_count: _Count | None = None
    max_parallel_nodes_repaired_percentage: _Percentage | None = None
    max_unhealthy_node_threshold_count: _Count | None = None
    max_unhealthy_node_threshold_percentage: _Percentage | None = None
    overrides: Annotated[
        Sequence[NodeRepairOverride], Checked(_one_action_for_each_reason, typed=tuple[NodeRepairOverride, ...])
    ] = Field(
        default=(),
        examples=["[{condition: AcceleratedHardwareReady, reason: NvidiaXID64Error, action: Replace}]"],
    )

    def overrides_without_effect(self) -> Iterator[str]:
        """Return why, for each override of a reason that is only an event."""
        for index, each in enumerate(self.overrides):
            if why := event_only(each.condition, each.reason):
                yield f"node_repair.overrides[{index}]: {why}"

    def _of_latched(self) -> Iterator[NodeRepairOverride]:
        """Yield no action for the agent's alarms that last, but for those of which the user has decided."""
        decided = [(each.condition, each.reason) for each in self.overrides]
        for condition, reason in LATCHED:
            if (condition, reason) not in decided:
                yield NodeRepairOverride(condition=condition, reason=reason, action="NoAction")

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
            node_repair_config_overrides=[each.to_property() for each in (*self.overrides, *self._of_latched())],
        )


@NodeRepair.rule
def one_unit_for_each_limit(repair: NodeRepair) -> Problems:
    """Reject a limit as a count and as a percentage, of which EKS takes one."""
    for count, percentage in zip(_COUNTS, _PERCENTAGES, strict=True):
        given = getattr(repair, count)
        if given is not None and getattr(repair, percentage) is not None:
            allowed = f"{percentage} is given too, and EKS takes one of them"
            yield Problem(path=(count,), given=given, allowed=allowed, fix="omit one", related=((percentage,),))


@NodeRepair.rule
def no_limits_without_repair(repair: NodeRepair) -> Problems:
    """Reject limits and overrides where EKS repairs no node."""
    for name, value in ({} if repair.enabled else repair.given()).items():
        if name != "enabled":
            allowed, fix = "with enabled false EKS repairs no node", "omit it, or omit enabled"
            yield Problem(path=(name,), given=value, allowed=allowed, fix=fix, related=(("enabled",),))
