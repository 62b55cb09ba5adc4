from typing import Any

import pytest

from tests.constructs.account.stubbed_account import EXISTING_LUSTRE, EXISTING_VPC, VIRGINIA, StubbedAccount, deployment
from tests.constructs.instance_types import RETIRED
from training_cluster.account.zone_checks import (
    subnets_have_addresses,
    zones_are_accepted_by_eks,
    zones_are_of_the_region,
    zones_offer_the_instance_types,
    zones_offer_the_system_nodes,
)


def answer_offers(account: StubbedAccount, *zones: str, kind: str = "p5.48xlarge") -> None:
    found = [{"InstanceType": kind, "Location": zone} for zone in zones]
    expected = {
        "LocationType": "availability-zone",
        "Filters": [{"Name": "instance-type", "Values": [kind]}],
    }
    account.answer("ec2", "describe_instance_type_offerings", {"InstanceTypeOfferings": found}, expected)


def test_zones_of_another_region_are_named() -> None:
    account = StubbedAccount()
    account.answer_zones()
    (found,) = zones_are_of_the_region(deployment(account, availability_zones=["us-east-1a", "us-east-1b"]))
    assert (found.state, found.actual) == ("failed", "us-west-2 has us-west-2a, us-west-2b, us-west-2c")
    assert found.remedy == ("correct availability_zones (us-east-1a, us-east-1b), or set AWS_REGION to their region")


def test_without_named_zones_those_of_the_region_are_right() -> None:
    account = StubbedAccount()
    account.answer_zones()
    (found,) = zones_are_of_the_region(deployment(account))
    assert (found.state, found.needed, found.remedy) == ("ok", "us-west-2a, us-west-2b", "")


def test_a_default_zone_that_eks_rejects_is_found_by_its_id() -> None:
    account = StubbedAccount("us-east-1")
    account.answer_zones(VIRGINIA)
    account.answer_no_stack()
    (found,) = zones_are_accepted_by_eks(deployment(account))
    assert (found.state, found.actual) == ("failed", "us-east-1a (use1-az3), us-east-1b (use1-az1)")
    assert found.remedy == (
        "EKS accepts no control plane in us-east-1a (use1-az3): set availability_zones: [us-east-1b, us-east-1c]"
    )


def test_a_region_without_such_zones_is_right() -> None:
    account = StubbedAccount()
    account.answer_zones()
    (found,) = zones_are_accepted_by_eks(deployment(account))
    assert (found.state, found.needed) == ("ok", "any zone of this region")


def test_a_zone_with_the_type_is_right() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2b", "us-west-2a")
    account.answer_zones()
    (found,) = zones_offer_the_instance_types(deployment(account))
    assert (found.check, found.state) == ("zone of gpu", "ok")
    assert found.actual == "us-west-2a; p5.48xlarge is offered in us-west-2a, us-west-2b"
    account.all_asked()


def test_a_zone_without_the_type_gets_the_key_to_set() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2b", "us-west-2c")
    account.answer_zones()
    account.answer_no_stack()
    (found,) = zones_offer_the_instance_types(deployment(account))
    assert (found.state, found.remedy) == (
        "failed",
        "set availability_zones: [us-west-2b, us-west-2a], or begin with us-west-2c",
    )


def test_the_zone_to_choose_is_one_that_eks_accepts() -> None:
    account = StubbedAccount("us-east-1")
    answer_offers(account, "us-east-1a", "us-east-1c")
    account.answer_zones(VIRGINIA)
    account.answer_no_stack()
    zones = ["us-east-1b", "us-east-1c"]
    (found,) = zones_offer_the_instance_types(deployment(account, availability_zones=zones))
    assert found.remedy == "set availability_zones: [us-east-1c, us-east-1b]"


def test_the_zone_to_choose_has_the_types_of_all_groups() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2a", "us-west-2b")
    answer_offers(account, "us-west-2b", "us-west-2c", kind="p4d.24xlarge")
    account.answer_zones()
    account.answer_no_stack()
    groups = {"new": {"instance_type": "p5.48xlarge"}, "old": {"instance_type": "p4d.24xlarge"}}
    new, old = zones_offer_the_instance_types(deployment(account, node_groups=groups))
    assert (new.state, old.state) == ("ok", "failed")
    assert old.remedy == "set availability_zones: [us-west-2b, us-west-2a]"


def test_a_region_without_the_type_is_named() -> None:
    account = StubbedAccount()
    answer_offers(account)
    account.answer_zones()
    (found,) = zones_offer_the_instance_types(deployment(account))
    assert found.actual == "us-west-2a; p5.48xlarge is offered in no zone"
    assert found.remedy == "no zone of us-west-2 offers it: choose another region or another type"


def test_a_retired_type_is_named_with_the_date_the_source_and_its_successors() -> None:
    account = StubbedAccount()
    answer_offers(account, kind=RETIRED)
    account.answer_zones()
    (found,) = zones_offer_the_instance_types(deployment(account, node_groups={"gpu": {"instance_type": RETIRED}}))
    assert (found.check, found.state) == ("zone of gpu", "failed")
    assert found.actual == f"us-west-2a; {RETIRED} is offered in no zone"
    assert found.remedy == (
        "AWS retired it on 2025-12-20 (https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685): choose "
        "p3dn.24xlarge or p4d.24xlarge"
    )


def test_types_without_a_common_zone_cannot_share_a_cluster() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2a")
    answer_offers(account, "us-west-2b", kind="p4d.24xlarge")
    account.answer_zones()
    account.answer_no_stack()
    groups = {"new": {"instance_type": "p5.48xlarge"}, "old": {"instance_type": "p4d.24xlarge"}}
    _, old = zones_offer_the_instance_types(deployment(account, node_groups=groups))
    assert old.remedy.startswith("no zone offers all types of the file")


TWO = {"new": {"instance_type": "p5.48xlarge"}, "old": {"instance_type": "p4d.24xlarge"}}
NAMED = {"availability_zones": ["us-west-2a", "us-west-2b"]}


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({}, "set node_groups.old.availability_zone to us-west-2c, and add it to availability_zones"),
        (
            {"lustre": {"availability_zone": "us-west-2a", "further_zones": ["us-west-2b"]}},
            "set node_groups.old.availability_zone to us-west-2c, and add it to availability_zones and "
            "lustre.further_zones",
        ),
    ],
    ids=["the training zone", "a further zone"],
)
def test_a_group_with_a_separate_zone_gets_its_key(values: dict[str, Any], remedy: str) -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2a", "us-west-2c")
    answer_offers(account, "us-west-2c", kind="p4d.24xlarge")
    account.answer_zones()
    account.answer_no_stack()
    groups = {**TWO, "old": {**TWO["old"], "availability_zone": "us-west-2b"}}
    _, old = zones_offer_the_instance_types(deployment(account, node_groups=groups, **NAMED, **values))
    assert (old.state, old.remedy) == ("failed", remedy)


def test_the_zone_of_the_file_system_is_the_key_of_the_groups_without_one() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2b")
    account.answer_zones()
    account.answer_no_stack()
    lustre = {"availability_zone": "us-west-2a"}
    (found,) = zones_offer_the_instance_types(deployment(account, lustre=lustre, **NAMED))
    assert (found.state, found.remedy) == ("failed", "set lustre.availability_zone to us-west-2b")


def test_a_group_with_its_own_zone_needs_no_zone_of_the_other_types() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2c")
    answer_offers(account, "us-west-2b", kind="p4d.24xlarge")
    account.answer_zones()
    account.answer_no_stack()
    groups = {**TWO, "old": {**TWO["old"], "availability_zone": "us-west-2b"}}
    lustre = {"availability_zone": "us-west-2a", "further_zones": ["us-west-2b"]}
    new, old = zones_offer_the_instance_types(deployment(account, node_groups=groups, lustre=lustre, **NAMED))
    assert (new.state, old.state) == ("failed", "ok")
    assert new.remedy == "set lustre.availability_zone to us-west-2c, and add it to availability_zones"


def test_a_named_zone_is_not_replaced_by_one_that_eks_rejects() -> None:
    account = StubbedAccount("us-east-1")
    answer_offers(account, "us-east-1a")
    account.answer_zones(VIRGINIA)
    account.answer_no_stack()
    zones = {"availability_zones": ["us-east-1b", "us-east-1c"], "lustre": {"availability_zone": "us-east-1b"}}
    (found,) = zones_offer_the_instance_types(deployment(account, **zones))
    assert found.remedy == "EKS accepts no control plane where it is offered (us-east-1a): choose another region"


LUSTRE = {"Lustre": ("AWS::FSx::FileSystem", "fs-0123456789abcdef0")}


def test_a_deployed_cluster_keeps_its_zones_and_its_file_system() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2b")
    account.answer_zones()
    account.answer_stack(LUSTRE)
    (found,) = zones_offer_the_instance_types(deployment(account, **NAMED))
    assert found.state == "failed"
    assert found.remedy == (
        "keep us-west-2a, the zone of the deployed file system, and add one in us-west-2b: set "
        "availability_zones: [us-west-2a, us-west-2b], lustre.availability_zone: us-west-2a, "
        "lustre.further_zones: [us-west-2b] and node_groups.gpu.availability_zone: us-west-2b; "
        "or add another node group there, or deploy a second cluster in us-west-2b"
    )
    # The configuration accepts these values.
    lustre = {"availability_zone": "us-west-2a", "further_zones": ["us-west-2b"]}
    kept = deployment(account, **NAMED, lustre=lustre, availability_zone="us-west-2b")
    assert (kept.training_zone, kept.zones) == ("us-west-2a", ("us-west-2a", "us-west-2b"))


@pytest.mark.parametrize(
    "values",
    [{}, {"lustre": {"availability_zone": "us-west-2a"}}, {"availability_zone": "us-west-2a"}],
    ids=["the first zone", "the zone of Lustre", "the zone of the group"],
)
def test_no_key_moves_the_file_system_of_a_deployed_cluster(values: dict[str, Any]) -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2c", "us-west-2b")
    account.answer_zones()
    account.answer_stack(LUSTRE)
    (found,) = zones_offer_the_instance_types(deployment(account, **NAMED, **values))
    # A zone that the cluster has is the better one.
    assert found.remedy.startswith("keep us-west-2a, the zone of the deployed file system, and add one in us-west-2b:")


def test_a_zone_that_a_deployed_cluster_lacks_is_added_at_the_end() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2c")
    account.answer_zones()
    account.answer_stack(LUSTRE)
    (found,) = zones_offer_the_instance_types(deployment(account))
    assert "availability_zones: [us-west-2a, us-west-2b, us-west-2c]" in found.remedy
    lustre = {"availability_zone": "us-west-2a", "further_zones": ["us-west-2b"]}
    answer_offers(account, "us-west-2c")
    values = deployment(account, **NAMED, lustre=lustre, availability_zone="us-west-2b")
    account.answer_zones()
    account.answer_stack(LUSTRE)
    (found,) = zones_offer_the_instance_types(values)
    assert found.remedy == (
        "set node_groups.gpu.availability_zone to us-west-2c, and add it to the end of availability_zones and "
        "lustre.further_zones"
    )


def test_an_existing_file_system_has_one_zone() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2b")
    account.answer_zones()
    account.answer_stack()
    given = {"existing_vpc": EXISTING_VPC, "existing_lustre": EXISTING_LUSTRE}
    (found,) = zones_offer_the_instance_types(deployment(account, **given))
    assert found.remedy == (
        "deploy a second cluster in us-west-2b: the file system of existing_lustre is in us-west-2a"
    )


def test_the_zones_of_a_deployed_cluster_are_those_that_eks_accepts() -> None:
    account = StubbedAccount("us-east-1")
    account.answer_zones(VIRGINIA)
    account.answer_stack(STACK)
    zones = (("us-east-1c", "10.0.128.0/18"), ("us-east-1b", "10.0.64.0/18"))
    account.answer_subnets(*({"AvailabilityZone": a, "CidrBlock": b, "MapPublicIpOnLaunch": False} for a, b in zones))
    (found,) = zones_are_accepted_by_eks(deployment(account))
    assert found.remedy.endswith("set availability_zones: [us-east-1b, us-east-1c]")


STACK = {
    "Cluster": ("AWS::EKS::Cluster", "training"),
    "Private": ("AWS::EC2::Subnet", "subnet-1"),
    "Public": ("AWS::EC2::Subnet", "subnet-2"),
}
SYSTEM = [("system", "m5.xlarge")] * 3


@pytest.mark.parametrize(("free", "state"), [(21, "ok"), (20, "failed")])
def test_free_addresses_are_compared_with_the_nodes_that_may_start(free: int, state: str) -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    subnets = [
        {"AvailabilityZone": "us-west-2a", "MapPublicIpOnLaunch": public, "AvailableIpAddressCount": count}
        for public, count in ((False, free), (True, 59))
    ]
    expected = {"Filters": [{"Name": "subnet-id", "Values": ["subnet-1", "subnet-2"]}]}
    account.answer("ec2", "describe_subnets", {"Subnets": subnets}, expected)
    account.answer_zones()
    account.answer_instances(*SYSTEM, ("gpu", "p5.48xlarge"))
    (found,) = subnets_have_addresses(deployment(account))
    # One of two nodes runs; the other takes 20 addresses for pods and one for itself.
    assert (found.check, found.state) == ("addresses in us-west-2a", state)
    assert (found.actual, found.needed) == (f"{free} free", "21 for the nodes that may start")


def test_a_zone_without_a_private_subnet_is_named() -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    account.answer_subnets()
    account.answer_zones()
    account.answer_instances()
    (found,) = subnets_have_addresses(deployment(account))
    assert (found.state, found.actual) == ("failed", "the VPC has no private subnet there")


def test_before_the_deployment_there_is_nothing_to_count() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    (found,) = subnets_have_addresses(deployment(account))
    assert (found.state, found.actual) == (
        "skipped",
        "there is no TrainingClusterStack yet; the file's own check has counted them",
    )


@pytest.mark.parametrize(("free", "state"), [(105, "ok"), (104, "failed")])
def test_the_subnets_of_an_existing_vpc_are_counted_before_the_deployment(free: int, state: str) -> None:
    account = StubbedAccount()
    # A node gets an address in a subnet that gives public ones, too.
    account.answer_subnets(
        {"AvailabilityZone": "us-west-2a", "MapPublicIpOnLaunch": True, "AvailableIpAddressCount": free},
        {"AvailabilityZone": "us-west-2b", "MapPublicIpOnLaunch": False, "AvailableIpAddressCount": 9},
    )
    account.answer_no_stack()
    (found,) = subnets_have_addresses(deployment(account, existing_vpc=EXISTING_VPC))
    # Two nodes and three system nodes, of 21 each.
    assert (found.check, found.state) == ("addresses in us-west-2a", state)
    assert found.needed == "105 for the nodes that may start"
    assert found.remedy == (
        "" if state == "ok" else "lower max_size, or name a larger subnet in existing_vpc.private_subnet_ids"
    )


def test_system_nodes_are_offered_in_every_zone() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2b", "us-west-2a", kind="m5.xlarge")
    account.answer_zones()
    (found,) = zones_offer_the_system_nodes(deployment(account))
    assert (found.check, found.state) == ("zones of system_nodes", "ok")
    assert found.needed == "m5.xlarge in us-west-2a, us-west-2b"


def test_types_that_every_zone_offers_are_named_for_the_system_nodes() -> None:
    account = StubbedAccount()
    answer_offers(account, "us-west-2a", kind="m5.xlarge")
    account.answer_zones()
    both = ("us-west-2b", "us-west-2a")
    offers = {"m5.xlarge": both[1:], "m7i.xlarge": both, "m6i.xlarge": (), "m7a.xlarge": (), "m6a.xlarge": both}
    for kind, zones in {**offers, "m5a.xlarge": ()}.items():
        answer_offers(account, *zones, kind=kind)
    (found,) = zones_offer_the_system_nodes(deployment(account))
    assert (found.state, found.actual) == ("failed", "m5.xlarge is offered in us-west-2a")
    assert found.remedy == (
        "set system_nodes.instance_type to m7i.xlarge or m6a.xlarge, or choose other availability_zones"
    )
    account.all_asked()
