import pytest

from tests.constructs.account.stubbed_account import EXISTING_LUSTRE, EXISTING_VPC, StubbedAccount, deployment
from training_cluster.account.quota_checks import (
    eks_quota_allows_the_cluster,
    fsx_quotas_allow_the_file_system,
    network_interface_quota_allows_the_nodes,
    vcpu_quotas_allow_the_nodes,
    vpc_quotas_allow_the_network,
)

CLUSTER = {"Cluster": ("AWS::EKS::Cluster", "training")}
SYSTEM = [("system", "m5.xlarge")] * 3
STANDARD, P = "Standard/OnDemand", "P/OnDemand"


@pytest.mark.parametrize(("limit", "state"), [(384, "ok"), (383, "failed")])
def test_on_demand_vcpus_of_all_nodes_are_compared_with_the_quota(limit: int, state: str) -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    account.answer_quota(32, metric=STANDARD)
    account.answer_metric(0)
    account.answer_quota(limit, "Running On-Demand P instances", metric=P)
    account.answer_metric()
    system, gpu = vcpu_quotas_allow_the_nodes(deployment(account))
    assert (system.state, system.needed) == ("ok", "12 more")
    assert (gpu.check, gpu.state, gpu.needed) == ("Running On-Demand P instances", state, "384 more")
    assert gpu.actual == f"{limit} vCPUs, 0 used"
    remedy = (
        "request 384: aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B "
        "--desired-value 384"
    )
    assert gpu.remedy == ("" if state == "ok" else remedy)
    account.all_asked()


def test_what_runs_already_is_not_needed_again() -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    account.answer_instances(*SYSTEM, ("gpu", "p5.48xlarge"), ("gpu", "p5.48xlarge"))
    account.answer_quota(16, metric=STANDARD)
    account.answer_metric(11, 12)
    account.answer_quota(384, metric=P)
    account.answer_metric(384)
    found = list(vcpu_quotas_allow_the_nodes(deployment(account)))
    assert [(each.state, each.needed) for each in found] == [("ok", "no more: deployed")] * 2
    assert found[0].actual == "16 vCPUs, 12 used"


@pytest.mark.parametrize(
    ("kind", "code"),
    [("p4d.24xlarge", "L-7212CCBC"), ("p5.48xlarge", "L-C4BD4855"), ("g5.48xlarge", "L-3819A6DF")],
)
def test_spot_has_quotas_of_its_families(kind: str, code: str) -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    account.answer_quota(32)
    account.answer_quota(0)
    _, gpu = vcpu_quotas_allow_the_nodes(deployment(account, instance_type=kind, capacity_type="SPOT"))
    assert (gpu.state, f"--quota-code {code} " in gpu.remedy) == ("failed", True)


GROUPS = {
    "one": {"instance_type": "p5.48xlarge", "max_size": 2},
    "two": {"instance_type": "p5.48xlarge", "max_size": 3},
    "reserved": {
        "instance_type": "p5.48xlarge",
        "max_size": 4,
        "capacity_reservation_id": "cr-0123456789abcdef0",
    },
}
ZONES = ["us-west-2a", "us-west-2b"]


def test_groups_of_one_type_have_their_own_nodes() -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    # Those in the reservation are no nodes of the other groups.
    reserved = [("reserved", "p5.48xlarge")] * 4
    account.answer_instances(*SYSTEM, ("one", "p5.48xlarge"), ("one", "p5.48xlarge"), *reserved)
    account.answer_quota(16)
    account.answer_quota(1152)
    _, gpu = vcpu_quotas_allow_the_nodes(deployment(account, node_groups=GROUPS, availability_zones=ZONES))
    assert gpu.needed == "576 more"


@pytest.mark.parametrize(
    "running", [("gpu", "p4d.24xlarge"), ("other", "p5.48xlarge"), ("", "p5.48xlarge")], ids=["type", "group", "no tag"]
)
def test_a_node_that_the_configuration_does_not_describe_is_none_of_its_nodes(running: tuple[str, str]) -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    account.answer_instances(running)
    account.answer_quota(16)
    account.answer_quota(1152)
    _, gpu = vcpu_quotas_allow_the_nodes(deployment(account))
    assert gpu.needed == "384 more"


def test_a_spot_node_is_none_of_a_group_on_demand() -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    account.answer_instances(("gpu", "p5.48xlarge"), spot=True)
    account.answer_quota(16)
    account.answer_quota(1152)
    _, gpu = vcpu_quotas_allow_the_nodes(deployment(account))
    assert gpu.needed == "384 more"


def test_a_smaller_group_needs_nothing_although_more_is_used_than_allowed() -> None:
    account = StubbedAccount()
    account.answer_stack(CLUSTER)
    account.answer_instances(*SYSTEM, *[("gpu", "p5.48xlarge")] * 3)
    account.answer_quota(16)
    account.answer_quota(384, metric=P)
    account.answer_metric(576)
    _, gpu = vcpu_quotas_allow_the_nodes(deployment(account))
    assert (gpu.state, gpu.needed) == ("ok", "no more: deployed")


def test_the_interfaces_of_groups_of_one_type_are_added() -> None:
    account = StubbedAccount()
    account.answer("ec2", "describe_network_interfaces", {"NetworkInterfaces": [{}] * 100})
    account.answer_stack(CLUSTER)
    account.answer_instances(*SYSTEM, ("one", "p5.48xlarge"), ("one", "p5.48xlarge"))
    account.answer_quota(5000)
    groups = {name: GROUPS[name] for name in ("one", "two")}
    (found,) = network_interface_quota_allows_the_nodes(deployment(account, node_groups=groups))
    assert found.needed == "99 more"


def test_a_family_without_a_known_quota_is_skipped() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    account.answer_quota(32)
    unknown, _ = vcpu_quotas_allow_the_nodes(
        deployment(account, instance_type="p6-b200.48xlarge", capacity_type="SPOT")
    )
    assert (unknown.check, unknown.state) == ("vCPUs of p6-b200.48xlarge", "skipped")


def test_a_reservation_has_its_vcpus_already() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    account.answer_quota(32)
    zones = ["us-west-2a", "us-west-2b"]
    reserved = deployment(account, capacity_reservation_id="cr-0123456789abcdef0", availability_zones=zones)
    (system,) = vcpu_quotas_allow_the_nodes(reserved)
    assert system.needed == "12 more"


@pytest.mark.parametrize(("limit", "state"), [(1, "failed"), (2, "ok")])
def test_a_cluster_more_fits(limit: int, state: str) -> None:
    account = StubbedAccount()
    account.answer("eks", "list_clusters", {"clusters": ["other"]})
    account.answer_no_stack()
    account.answer_quota(limit)
    (found,) = eks_quota_allows_the_cluster(deployment(account))
    assert (found.state, found.actual, found.needed) == (state, f"{limit} clusters, 1 used", "1 more")


def answer_network(account: StubbedAccount, number: int) -> None:
    account.answer("ec2", "describe_vpcs", {"Vpcs": [{}] * number})


@pytest.mark.parametrize(("used", "state"), [(4, "ok"), (5, "failed")])
def test_vpcs_addresses_and_gateways_are_five_by_default(used: int, state: str) -> None:
    account = StubbedAccount()
    answer_network(account, used)
    account.answer_no_stack()
    account.answer_quota(5)
    account.answer("ec2", "describe_addresses", {"Addresses": [{}] * used})
    account.answer_quota(5)
    account.answer_zones()
    # Another zone's gateway does not count, nor one that is deleted.
    gateways = [{"SubnetId": "subnet-a", "State": "available"}] * used
    others = [{"SubnetId": "subnet-b", "State": "available"}, {"SubnetId": "subnet-a", "State": "deleted"}]
    account.answer("ec2", "describe_nat_gateways", {"NatGateways": [*gateways, *others]})
    subnets = [{"SubnetId": f"subnet-{zone}", "AvailabilityZone": f"us-west-2{zone}"} for zone in "ab"]
    asked = {"Name": "subnet-id", "Values": ["subnet-a", "subnet-b"]}
    account.answer("ec2", "describe_subnets", {"Subnets": subnets}, {"Filters": [asked]})
    account.answer_quota(5)
    found = list(vpc_quotas_allow_the_network(deployment(account)))
    assert [each.state for each in found] == [state] * 3
    assert found[2].actual == f"5 gateways in us-west-2a, {used} used"
    account.all_asked()


def test_an_existing_vpc_takes_nothing_from_a_quota() -> None:
    assert list(vpc_quotas_allow_the_network(deployment(StubbedAccount(), existing_vpc=EXISTING_VPC))) == []


def test_an_existing_file_system_takes_nothing_from_a_quota() -> None:
    existing = deployment(StubbedAccount(), existing_vpc=EXISTING_VPC, existing_lustre=EXISTING_LUSTRE)
    assert list(fsx_quotas_allow_the_file_system(existing)) == []


def test_without_nat_there_is_only_the_vpc() -> None:
    account = StubbedAccount()
    answer_network(account, 0)
    account.answer_no_stack()
    account.answer_quota(5)
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"
    (found,) = vpc_quotas_allow_the_network(deployment(account, nat=False, mirror=mirror))
    assert (found.check, found.state) == ("VPCs per Region", "ok")


@pytest.mark.parametrize(("limit", "state"), [(70, "ok"), (69, "failed")])
def test_each_efa_device_is_a_network_interface(limit: int, state: str) -> None:
    account = StubbedAccount()
    account.answer("ec2", "describe_network_interfaces", {"NetworkInterfaces": [{}]})
    account.answer_no_stack()
    account.answer_quota(limit)
    (found,) = network_interface_quota_allows_the_nodes(deployment(account))
    # Two nodes with 33 each, and three system nodes.
    assert (found.state, found.needed) == (state, "69 more")


def file_systems(*sizes: int) -> list[dict[str, object]]:
    return [
        {
            "FileSystemId": f"fs-0123456{size:04}",
            "StorageCapacity": size,
            "LustreConfiguration": {"DeploymentType": kind},
        }
        for size in sizes
        for kind in ("PERSISTENT_2", "SCRATCH_2")
    ]


@pytest.mark.parametrize(("limit", "state"), [(3600, "ok"), (3599, "failed")])
def test_lustre_storage_of_the_deployment_type_counts(limit: int, state: str) -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    account.answer("fsx", "describe_file_systems", {"FileSystems": file_systems(2400)})
    account.answer_quota(100)
    account.answer_quota(limit)
    number, storage = fsx_quotas_allow_the_file_system(deployment(account))
    assert (number.actual, number.needed) == ("100 file systems, 1 used", "1 more")
    assert (storage.state, storage.actual, storage.needed) == (state, f"{limit} GiB, 2400 used", "1200 more")


@pytest.mark.parametrize(
    ("systems", "limit", "states"),
    [(2, 4800, ["ok", "ok"]), (1, 4800, ["failed", "ok"]), (2, 4799, ["ok", "failed"])],
)
def test_each_further_zone_has_a_file_system(systems: int, limit: int, states: list[str]) -> None:
    account = StubbedAccount()
    account.answer("fsx", "describe_file_systems", {"FileSystems": file_systems(1200)})
    account.answer_stack({"Lustre": ("AWS::FSx::FileSystem", "fs-01234561200")})
    account.answer_quota(systems)
    account.answer_quota(limit)
    lustre = {"capacity_gib": 2400, "availability_zone": "us-west-2a", "further_zones": ["us-west-2b"]}
    number, storage = fsx_quotas_allow_the_file_system(
        deployment(account, lustre=lustre, availability_zones=ZONES, availability_zone="us-west-2b")
    )
    assert [number.state, storage.state] == states
    assert (number.actual, number.needed) == (f"{systems} file systems, 1 used", "1 more")
    assert storage.needed == "3600 more"


def test_a_deployed_file_system_grows_by_the_difference() -> None:
    account = StubbedAccount()
    account.answer_stack({"Lustre": ("AWS::FSx::FileSystem", "fs-01234561200")})
    account.answer("fsx", "describe_file_systems", {"FileSystems": file_systems(1200)})
    account.answer_quota(100)
    account.answer_quota(100800)
    number, storage = fsx_quotas_allow_the_file_system(deployment(account, lustre={"capacity_gib": 4800}))
    assert (number.needed, storage.needed) == ("no more: deployed", "3600 more")


def test_vcpus_of_a_system_type_that_the_catalog_lacks_are_those_of_ec2() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    found = {"InstanceType": "m6i.2xlarge", "VCpuInfo": {"DefaultVCpus": 8}}
    expected = {"InstanceTypes": ["m6i.2xlarge"]}
    account.answer("ec2", "describe_instance_types", {"InstanceTypes": [found]}, expected)
    account.answer_quota(100)
    account.answer_quota(1000)
    nodes = {"instance_type": "m6i.2xlarge", "min_size": 3}
    system, _ = vcpu_quotas_allow_the_nodes(deployment(account, system_nodes=nodes))
    assert system.needed == "32 more"


def test_a_system_type_without_a_quota_is_skipped() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    account.answer_quota(1000)
    system, _ = vcpu_quotas_allow_the_nodes(deployment(account, system_nodes={"instance_type": "q9.xlarge"}))
    assert (system.check, system.state) == ("vCPUs of q9.xlarge", "skipped")
