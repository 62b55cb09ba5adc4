from typing import Any

import pytest

from training_cluster import NodeRepair, NodeRepairOverride
from training_workloads import InputError

XID: dict[str, Any] = {"condition": "AcceleratedHardwareReady", "reason": "NvidiaXID64Error", "action": "Replace"}


def test_repair_can_be_off() -> None:
    found = NodeRepair(enabled=False).to_property()
    assert (found.enabled, found.max_parallel_nodes_repaired_count) == (False, None)
    assert found.node_repair_config_overrides is None


def test_a_count_replaces_the_default() -> None:
    found = NodeRepair(max_parallel_nodes_repaired_count=4, overrides=()).to_property()
    assert (found.enabled, found.max_parallel_nodes_repaired_count) == (True, 4)
    assert found.node_repair_config_overrides is None


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
        ({"reason": 64}, "'reason' is 64; give the agent's reason, such as NvidiaXID31Error"),
        ({"reason": " "}, "'reason' is ' '; give the agent's reason, such as NvidiaXID31Error"),
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
