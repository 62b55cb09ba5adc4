from typing import Any

import pytest

from training_cluster import NodeRepair, NodeRepairOverride
from training_cluster.nodes.repair_reasons import AGENT
from training_workloads import InputError
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES

XID: dict[str, Any] = {"condition": "AcceleratedHardwareReady", "reason": "NvidiaXID64Error", "action": "Replace"}


def test_repair_can_be_off() -> None:
    found = NodeRepair(enabled=False).to_property()
    assert (found.enabled, found.max_parallel_nodes_repaired_count) == (False, None)
    assert found.node_repair_config_overrides is None


def test_a_count_replaces_the_default() -> None:
    found = NodeRepair(max_parallel_nodes_repaired_count=4, overrides=()).to_property()
    assert (found.enabled, found.max_parallel_nodes_repaired_count) == (True, 4)


def actions(repair: NodeRepair) -> list[tuple[str, str, str]]:
    overrides: Any = repair.to_property().node_repair_config_overrides
    return [(each.node_monitoring_condition, each.node_unhealthy_reason, each.repair_action) for each in overrides]


def test_an_alarm_that_one_line_of_a_log_raises_for_good_leads_to_no_repair() -> None:
    latched = ("NetworkingReady", "IPAMDNotReady", "NoAction")
    assert actions(NodeRepair()) == [latched]
    gpu = ("AcceleratedHardwareReady", "NvidiaXID64Error", "Replace")
    assert actions(NodeRepair(overrides=[NodeRepairOverride(**XID)])) == [gpu, latched]


def test_the_user_decides_of_that_alarm_too() -> None:
    own = NodeRepairOverride(condition="NetworkingReady", reason="IPAMDNotReady", action="Replace", min_wait_minutes=60)
    assert actions(NodeRepair(overrides=[own])) == [("NetworkingReady", "IPAMDNotReady", "Replace")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"enabled": "yes"}, "'enabled' is 'yes'; give true or false"),
        ({"max_parallel_nodes_repaired_count": 0}, "'max_parallel_nodes_repaired_count' is 0; give 1 or more"),
        (
            {"max_unhealthy_node_threshold_percentage": 101},
            "'max_unhealthy_node_threshold_percentage' is 101; give 100 or less",
        ),
        (
            {"max_parallel_nodes_repaired_count": 2, "max_parallel_nodes_repaired_percentage": 50},
            "'max_parallel_nodes_repaired_count' is 2, but max_parallel_nodes_repaired_percentage is given too, and "
            "EKS takes one of them; omit one",
        ),
        ({"overrides": [XID, XID]}, "'overrides[1]' is "),
        ({"overrides": 5}, "'overrides' is 5; give a list"),
        (
            {"overrides": (NodeRepairOverride(**XID), NodeRepairOverride(**XID | {"action": "Reboot"}))},
            "'overrides[1]' is 'AcceleratedHardwareReady NvidiaXID64Error', but overrides[0] has this condition and "
            "reason too, and EKS takes one action for it; omit one of the two",
        ),
        (
            {"enabled": False, "max_parallel_nodes_repaired_count": 2},
            "'max_parallel_nodes_repaired_count' is 2, but with enabled false EKS repairs no node; omit it, or omit "
            "enabled",
        ),
        ({"enabled": False, "overrides": ()}, "'overrides' is [], but with enabled false EKS repairs no node; omit"),
    ],
)
def test_rejects_limits_that_eks_rejects(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        NodeRepair(**given)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"action": "replace"}, "'action' is 'replace'; give one of Replace, Reboot, NoAction"),
        ({"min_wait_minutes": 0}, "'min_wait_minutes' is 0; give 1 or more"),
        ({"reason": 64}, "'reason' is 64; give text in quotes, such as \"NvidiaXID64Error\""),
        (
            {"reason": "NvidiaXid79Error"},
            "'reason' is 'NvidiaXid79Error', but agent v1.7.0 reports no such reason with AcceleratedHardwareReady; "
            "did you mean NvidiaXID79Error?",
        ),
        (
            {"reason": "NvidiaXID*Error"},
            "'reason' is 'NvidiaXID*Error', but agent v1.7.0 reports no such reason with AcceleratedHardwareReady; "
            "known: "
            + ", ".join(f"NvidiaXID{xid}Error" for xid in (109, 110, 119, 120, 136, 140, 142, 143, 151, 155, 156, 158))
            + ", "
            + ", ".join(f"NvidiaXID{xid}Error" for xid in (46, 48, 54, 62, 63, 64, 74, 79, 95)),
        ),
        (
            {"condition": "NetworkingReady"},
            "'reason' is 'NvidiaXID64Error', but it is a reason of AcceleratedHardwareReady; set condition to "
            "AcceleratedHardwareReady",
        ),
        (
            {"condition": "KernelReady", "reason": "OutOfPIDs"},
            "'reason' is 'OutOfPIDs', but agent v1.7.0 reports no such reason with KernelReady; "
            "known: ForkFailedOutOfPIDs",
        ),
        (
            {"condition": "AcceleratedHardware"},
            "'condition' is 'AcceleratedHardware'; did you mean AcceleratedHardwareReady? known: "
            "AcceleratedHardwareReady, ContainerRuntimeReady, KernelReady, NetworkingReady, StorageReady",
        ),
        (
            {"condition": None},
            "'condition' is None; known: AcceleratedHardwareReady, ContainerRuntimeReady, KernelReady, "
            "NetworkingReady, StorageReady",
        ),
    ],
)
def test_rejects_overrides_that_eks_rejects(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        NodeRepairOverride(**XID | given)
    assert str(caught.value) == message


def _warnings(*reasons: tuple[str, str]) -> list[str]:
    overrides = [NodeRepairOverride(condition=one, reason=two, action="Replace") for one, two in reasons]
    return list(NodeRepair(overrides=overrides).overrides_without_effect())


def test_warns_of_reasons_that_are_only_events() -> None:
    gpu = "AcceleratedHardwareReady"
    assert _warnings((gpu, "NvidiaXID43Error"), (gpu, "NvidiaXID13Error"), ("StorageReady", "IODelays")) == [
        "node_repair.overrides[0]: agent v1.7.0 reports XID 43 as the event NvidiaXID43Warning only, without "
        "AcceleratedHardwareReady: EKS repairs no node for it; omit the override",
        "node_repair.overrides[1]: agent v1.7.0 reports XID 13 as the event NvidiaXID13Warning only, without "
        "AcceleratedHardwareReady (agents before v1.6.4 set it): EKS repairs no node for it; omit the override",
        "node_repair.overrides[2]: agent v1.7.0 reports IODelays as an event only, without StorageReady: EKS repairs "
        "no node for it; omit the override",
    ]


def test_accepts_every_reason_that_sets_its_condition() -> None:
    gpu, network = "AcceleratedHardwareReady", "NetworkingReady"
    fatal = [(gpu, "NvidiaXID79Error"), (gpu, "DCGMError"), (gpu, "DCGMHealthCode71"), (network, "IPAMDNotReady")]
    assert _warnings(*fatal, ("ContainerRuntimeReady", "PodStuckTerminating")) == []


def test_the_reasons_are_those_of_the_agent_that_the_catalog_installs() -> None:
    installed = {each.addons.get("eks-node-monitoring-agent") for each in KUBERNETES_RELEASES.values()} - {None}
    assert {str(each).partition("-")[0] for each in installed} == {"v1.7.0"} == {AGENT}
