"""What EC2 offered when it was recorded, and the message about a type that it does not offer."""

import pytest

from training_workloads import INSTANCE_TYPES
from training_workloads.catalog.offers import DEFAULT_INSTANCE_TYPE, is_offered, offered_regions

NOTICE = "https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685"


def said(instance_type: str, region: str | None = None, consequence: str = "") -> list[str]:
    return [str(problem) for problem in is_offered(instance_type, region=region, consequence=consequence)]


@pytest.mark.parametrize("name", INSTANCE_TYPES)
def test_a_type_is_retired_or_offered_somewhere(name: str) -> None:
    assert (INSTANCE_TYPES[name].retired is None) == bool(offered_regions(name))


def test_the_types_that_aws_has_retired() -> None:
    retired = {name: one.retired for name, one in INSTANCE_TYPES.items() if one.retired}
    assert set(retired) == {"p3.2xlarge", "p3.8xlarge", "p3.16xlarge"}
    for one in retired.values():
        assert (one.on.isoformat(), one.source, one.successors) == (
            "2025-12-20",
            NOTICE,
            ("p3dn.24xlarge", "p4d.24xlarge"),
        )
        assert [name for name in one.successors if INSTANCE_TYPES[name].retired] == []


def test_p3dn_remains_in_four_regions() -> None:
    assert offered_regions("p3dn.24xlarge") == ["ap-northeast-1", "eu-west-1", "us-east-1", "us-west-2"]
    assert offered_regions("p9.48xlarge") == []


def test_the_list_of_regions_is_a_copy() -> None:
    offered_regions("p3dn.24xlarge").clear()
    assert offered_regions("p3dn.24xlarge") != []


def test_the_default_has_eight_gpus_and_several_efa_interfaces_and_is_not_retired() -> None:
    default = INSTANCE_TYPES[DEFAULT_INSTANCE_TYPE]
    assert (default.gpus, default.efa_interfaces, default.retired) == (8, 4, None)
    assert "us-east-1" in offered_regions(DEFAULT_INSTANCE_TYPE)


# It is retired everywhere: the region changes nothing.
@pytest.mark.parametrize("region", [None, "us-east-1", "cn-north-1"])
def test_a_retired_type_has_its_day_its_source_and_its_successors(region: str | None) -> None:
    assert said("p3.16xlarge", region) == [
        f"'instance_type' is 'p3.16xlarge', but AWS retired it on 2025-12-20 ({NOTICE}) and EC2 offers it in no "
        "region; choose p3dn.24xlarge or p4d.24xlarge"
    ]


def test_of_a_retired_family_that_the_catalog_lacks_the_source_is_known() -> None:
    assert said("p2.16xlarge") == [
        "'instance_type' is 'p2.16xlarge', but AWS has retired it (https://github.com/eksctl-io/eksctl/pull/7826) and "
        "EC2 offers it in no region; choose another type"
    ]
    assert len(said("g3.4xlarge")) == len(said("g3s.xlarge")) == 1
    assert said("p9.48xlarge") == said("p2") == said("") == []


def test_a_consequence_follows_the_reason() -> None:
    assert said("p3.2xlarge", consequence="no node starts") == [
        f"'instance_type' is 'p3.2xlarge', but AWS retired it on 2025-12-20 ({NOTICE}) and EC2 offers it in no "
        "region, so no node starts; choose p3dn.24xlarge or p4d.24xlarge"
    ]
    (found,) = said("p3dn.24xlarge", "eu-central-1", "no node starts")
    assert "EC2 did not offer it in eu-central-1 on 2026-10-27, so no node starts; choose another type, or" in found


def test_a_region_without_the_type_has_the_day_and_those_with_it() -> None:
    assert said("p3dn.24xlarge", "eu-central-1") == [
        "'instance_type' is 'p3dn.24xlarge', but EC2 did not offer it in eu-central-1 on 2026-10-27; choose another "
        "type, or a region that offers it (ap-northeast-1, eu-west-1, us-east-1, us-west-2)"
    ]


def test_of_many_regions_the_first_five_are_named() -> None:
    (found,) = said("p4d.24xlarge", "us-west-1")
    assert found.endswith("(ap-northeast-1, ap-northeast-2, ap-south-1, ap-southeast-2, ca-central-1 and others)")


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("p4d.24xlarge", "us-east-1"),
        ("p4d.24xlarge", None),
        # Not recorded: China, GovCloud, and regions that did not exist.
        ("p4d.24xlarge", "cn-north-1"),
        ("p4d.24xlarge", "us-gov-west-1"),
        ("p4d.24xlarge", "us-east-9"),
        # Not in the catalog, which says so elsewhere.
        ("p9.48xlarge", "us-east-1"),
        ("", None),
    ],
)
def test_no_message_where_nothing_is_known_against_a_type(name: str, region: str | None) -> None:
    assert said(name, region) == []
