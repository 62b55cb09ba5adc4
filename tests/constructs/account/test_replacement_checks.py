"""A deployed cluster keeps its zones, its VPC and its Lustre; another value is reported with what it would replace."""

from typing import Any

import pytest

from tests.constructs.account.stubbed_account import EXISTING_LUSTRE, EXISTING_VPC, StubbedAccount, deployment
from training_cluster.account.check_result import CheckResult
from training_cluster.account.replacement_checks import deployed_resources_stay

ID, FURTHER = "fs-0123456789abcdef0", "fs-0123456789abcdef9"
NETWORK = {"Vpc": ("AWS::EC2::VPC", "vpc-1"), "A": ("AWS::EC2::Subnet", "subnet-a")}
CLUSTER = {"Cluster": ("AWS::EKS::Cluster", "training")}
LUSTRE = {"Lustre": ("AWS::FSx::FileSystem", ID)}
ZONES = {"availability_zones": ["us-west-2a", "us-west-2b"]}


def subnet(zone: str, addresses: str, *, public: bool = False) -> dict[str, Any]:
    return {"AvailabilityZone": zone, "CidrBlock": addresses, "MapPublicIpOnLaunch": public}


def answer_network(account: StubbedAccount) -> None:
    account.answer("ec2", "describe_vpcs", {"Vpcs": [{"CidrBlock": "10.0.0.0/16"}]}, {"VpcIds": ["vpc-1"]})
    first, second = subnet("us-west-2a", "10.0.64.0/18"), subnet("us-west-2b", "10.0.128.0/18")
    # EC2 lists subnets in any order.
    account.answer_subnets(second, subnet("us-west-2b", "10.0.0.64/26", public=True), first)


def answer_lustre(account: StubbedAccount, zone: str = "us-west-2a", id: str = ID, **configuration: Any) -> None:
    given = {"DeploymentType": "PERSISTENT_2", **configuration}
    found = {
        "FileSystemId": id,
        "StorageCapacity": 1200,
        "SubnetIds": [f"subnet-{zone}"],
        "LustreConfiguration": given,
    }
    account.answer("fsx", "describe_file_systems", {"FileSystems": [found]}, {"FileSystemIds": [id]})
    account.answer_subnets({"AvailabilityZone": zone})


def rows(account: StubbedAccount, **values: Any) -> dict[str, CheckResult]:
    return {each.check: each for each in deployed_resources_stay(deployment(account, **values))}


def test_before_the_first_deployment_nothing_is_compared() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    assert rows(account)["deployed resources"].state == "skipped"


def of_network(**values: Any) -> dict[str, CheckResult]:
    account = StubbedAccount()
    account.answer_stack(NETWORK | CLUSTER)
    answer_network(account)
    return rows(account, **values)


def test_the_deployed_values_are_right_and_a_zone_at_the_end_is_too() -> None:
    for zones in (["us-west-2a", "us-west-2b"], ["us-west-2a", "us-west-2b", "us-west-2c"]):
        assert {each.state for each in of_network(availability_zones=zones).values()} == {"ok"}


def test_another_first_zone_is_not_deployed() -> None:
    found = of_network(availability_zones=["us-west-2b", "us-west-2a"])["deployed zones"]
    assert (found.state, found.actual, found.needed) == ("failed", "us-west-2a, us-west-2b", "us-west-2b, us-west-2a")
    assert found.remedy.startswith("set availability_zones: [us-west-2a, us-west-2b]: EC2 rejects a second subnet")


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({**ZONES, "vpc_cidr": "10.1.0.0/16"}, "set vpc_cidr: 10.0.0.0/16: keep the VPC, or destroy the cluster"),
        ({"existing_vpc": EXISTING_VPC}, "omit existing_vpc: keep the VPC, or destroy the cluster"),
    ],
)
def test_a_cluster_stays_in_its_vpc(values: dict[str, Any], remedy: str) -> None:
    found = of_network(**values)["deployed VPC"]
    assert (found.state, found.actual) == ("failed", "10.0.0.0/16")
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("values", "state"), [({"existing_vpc": EXISTING_VPC}, "ok"), (ZONES, "failed")], ids=["the same", "a new one"]
)
def test_a_cluster_stays_in_an_existing_vpc(values: dict[str, Any], state: str) -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    network = {"resourcesVpcConfig": {"vpcId": EXISTING_VPC["vpc_id"]}}
    account.answer("eks", "describe_cluster", {"cluster": network}, {"name": "training"})
    (found,) = rows(account, **values).values()
    assert (found.state, found.actual) == (state, EXISTING_VPC["vpc_id"])


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (ZONES, ""),
        ({**ZONES, "lustre": {"availability_zone": "us-west-2b"}}, "set lustre.availability_zone: us-west-2a"),
        ({**ZONES, "lustre": {"deployment_type": "SCRATCH_2"}}, "set lustre.deployment_type: PERSISTENT_2"),
        (
            {**ZONES, "lustre": {"efa": True, "capacity_gib": 38400}},
            "set lustre.efa: false",
        ),
        (
            {"existing_vpc": EXISTING_VPC, "existing_lustre": EXISTING_LUSTRE},
            f"omit existing_lustre: the stack deletes {ID}, with the files that are not in the bucket",
        ),
    ],
)
def test_a_value_that_replaces_the_file_system_is_named(values: dict[str, Any], key: str) -> None:
    account = StubbedAccount()
    account.answer_stack(LUSTRE)
    answer_lustre(account)
    (found,) = rows(account, **values).values()
    assert (found.check, found.actual) == (f"deployed Lustre of {ID}", "PERSISTENT_2, 1200 GiB in us-west-2a")
    assert found.remedy.startswith(key)
    assert ("files that are not in the bucket" in found.remedy) == bool(key)
    assert (" stays, outside the stack" in found.remedy) == key.startswith("set ") == ("is billed (" in found.remedy)


def test_a_file_system_does_not_become_smaller() -> None:
    account = StubbedAccount()
    account.answer_stack(LUSTRE)
    found = {"FileSystemId": ID, "StorageCapacity": 4800, "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"}}
    account.answer("fsx", "describe_file_systems", {"FileSystems": [found]})
    (row,) = rows(account, **ZONES).values()
    assert row.needed == "1200 GiB"
    assert row.remedy.startswith(
        "set lustre.capacity_gib: 4800: 1200 GiB in place of 4800: FSx makes no file system smaller"
    )


def test_a_further_file_system_keeps_its_zone() -> None:
    both = {**LUSTRE, "Further": ("AWS::FSx::FileSystem", FURTHER)}
    for further, state in ((["us-west-2b"], "ok"), ([], "failed")):
        account = StubbedAccount()
        account.answer_stack(both, outputs={"FileSystemId": ID})
        answer_lustre(account)
        answer_lustre(account, "us-west-2b", FURTHER)
        lustre = {"availability_zone": "us-west-2a", "further_zones": further}
        zone = {"availability_zone": "us-west-2b"} if further else {}
        found = rows(account, **ZONES, lustre=lustre, **zone)
        assert (found[f"deployed Lustre of {ID}"].state, found[f"deployed Lustre of {FURTHER}"].state) == ("ok", state)
        if state == "failed":
            assert found[f"deployed Lustre of {FURTHER}"].remedy.startswith(
                f"add us-west-2b to lustre.further_zones: the stack deletes {FURTHER}"
            )


def test_a_file_system_that_is_gone_is_skipped() -> None:
    account = StubbedAccount()
    account.answer_stack(LUSTRE)
    account.stubs.reject("fsx", "describe_file_systems", "FileSystemNotFound")
    (found,) = rows(account).values()
    assert (found.state, found.actual) == ("skipped", f"us-west-2 of this account has no {ID} (any more)")
