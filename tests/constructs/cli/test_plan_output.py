"""The output of `trainctl cluster plan`: the price, and the line to decide on."""

from pathlib import Path
from typing import Any

from tests.constructs.account.conftest import Command
from tests.constructs.account.stubbed_account import StubbedAccount
from tests.constructs.cli.test_plan_command import answer_stack, app, group, write

__all__ = ["app"]


def test_a_part_without_a_price_has_no_difference(account: StubbedAccount, command: Command, app: Path) -> None:
    control_plane = {"Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Version": "1.35"}}}
    nodes = group("4")
    nodes["Properties"] |= {"InstanceTypes": ["m6i.xlarge"], "ScalingConfig": {"DesiredSize": 2}}
    write(app, {**control_plane, "Group": nodes})
    answer_stack(account, control_plane)
    out = command("plan").out
    assert "per hour before: 0.10 USD\nper hour after:  0.10 USD + m6i.xlarge without a price\n" in out
    # Nodes that no size asks for cost nothing.
    nodes["Properties"]["ScalingConfig"]["DesiredSize"] = 0
    write(app, {**control_plane, "Group": nodes})
    answer_stack(account, control_plane)
    assert "per hour" not in command("plan").out


def test_steps_are_no_way_where_another_rejection_has_none(
    account: StubbedAccount, command: Command, app: Path
) -> None:
    def cluster(version: str) -> dict[str, Any]:
        return {"Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Version": version}}}

    new = group(8)
    new["Properties"]["Version"] = "1.36"
    write(app, {"Group": new, **cluster("1.36")})
    answer_stack(account, {"Group": group(4), **cluster("1.34")})
    account.forbid("eks", "describe_nodegroup")
    code, out, _ = command("plan")
    assert code == 1
    assert out.endswith("2 rejected, 1 that could not be read; do not deploy it like this\n")
