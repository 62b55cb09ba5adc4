"""Every check runs, and none stops the others."""

import inspect
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.constructs.account.stubbed_account import (
    EXISTING_EFS,
    EXISTING_LUSTRE,
    EXISTING_VPC,
    StubbedAccount,
    deployment,
)
from training_cluster.account import (
    account_requests,
    checked_deployment,
    cluster_state,
    deployed_stack,
    lustre_state,
)
from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.preflight import CHECKS, Check, run_checks
from training_cluster.account.quota_checks import vcpu_quotas_allow_the_nodes
from training_workloads.aws.errors import AwsError, RejectionError, UnreachableError

RESERVED = {"capacity_reservation_id": "cr-0123456789abcdef0", "availability_zones": ["us-west-2a", "us-west-2b"]}
EXISTING = {"existing_vpc": EXISTING_VPC, "existing_lustre": EXISTING_LUSTRE, "existing_efs": EXISTING_EFS}

KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"

#: Where IAM's name of an action is not that of the operation.
ACTIONS = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketNotificationConfiguration": "s3:GetBucketNotification",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
}

#: The first request of each check, the action that it needs, and the configuration with which it is made.
FIRST: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "zones_are_of_the_region": ("ec2", "describe_availability_zones", "ec2:DescribeAvailabilityZones", {}),
    "zones_are_accepted_by_eks": ("ec2", "describe_availability_zones", "ec2:DescribeAvailabilityZones", {}),
    "zones_offer_the_instance_types": (
        "ec2",
        "describe_instance_type_offerings",
        "ec2:DescribeInstanceTypeOfferings",
        {},
    ),
    "zones_offer_the_system_nodes": (
        "ec2",
        "describe_instance_type_offerings",
        "ec2:DescribeInstanceTypeOfferings",
        {},
    ),
    "vcpu_quotas_allow_the_nodes": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "network_interface_quota_allows_the_nodes": (
        "ec2",
        "describe_network_interfaces",
        "ec2:DescribeNetworkInterfaces",
        {},
    ),
    "vpc_quotas_allow_the_network": ("ec2", "describe_vpcs", "ec2:DescribeVpcs", {}),
    "eks_quota_allows_the_cluster": ("eks", "list_clusters", "eks:ListClusters", {}),
    "fsx_quotas_allow_the_file_system": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "reservations_fit_the_node_groups": (
        "ec2",
        "describe_capacity_reservations",
        "ec2:DescribeCapacityReservations",
        RESERVED,
    ),
    "spot_has_its_role": ("iam", "get_role", "iam:GetRole", {"capacity_type": "SPOT"}),
    "reservation_groups_fit_the_node_groups": (
        "resource-groups",
        "get_group_configuration",
        "resource-groups:GetGroupConfiguration",
        RESERVED | {"capacity_reservation_id": "arn:aws:resource-groups:us-west-2:111122223333:group/training"},
    ),
    "placement_groups_exist": (
        "ec2",
        "describe_placement_groups",
        "ec2:DescribePlacementGroups",
        {"placement_group": "my-group"},
    ),
    "ami_releases_exist": ("ssm", "get_parameter", "ssm:GetParameter", {}),
    "addon_versions_are_offered": ("eks", "describe_addon_versions", "eks:DescribeAddonVersions", {}),
    "account_is_bootstrapped": ("ssm", "get_parameter", "ssm:GetParameter", {}),
    "subnets_have_addresses": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "images_are_in_ecr": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "data_set_fits_on_lustre": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "exports_are_up_to_date": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "existing_vpc_has_the_subnets": ("ec2", "describe_vpcs", "ec2:DescribeVpcs", {"existing_vpc": EXISTING_VPC}),
    "existing_vpc_has_dns": (
        "ec2",
        "describe_vpc_attribute",
        "ec2:DescribeVpcAttribute",
        {"existing_vpc": EXISTING_VPC},
    ),
    "existing_subnets_have_a_way_out": (
        "ec2",
        "describe_route_tables",
        "ec2:DescribeRouteTables",
        {"existing_vpc": EXISTING_VPC},
    ),
    "existing_vpc_endpoints_admit_the_nodes": (
        "ec2",
        "describe_vpc_endpoints",
        "ec2:DescribeVpcEndpoints",
        {"existing_vpc": EXISTING_VPC},
    ),
    "existing_lustre_can_be_mounted": ("fsx", "describe_file_systems", "fsx:DescribeFileSystems", EXISTING),
    "existing_efs_can_be_mounted": (
        "efs",
        "describe_file_systems",
        "elasticfilesystem:DescribeFileSystems",
        EXISTING,
    ),
    "existing_bucket_fits": ("s3", "get_bucket_location", "s3:GetBucketLocation", {"existing_bucket": "my-data"}),
    "existing_key_fits": ("kms", "describe_key", "kms:DescribeKey", {"existing_key": KEY}),
    "existing_repository_fits": (
        "ecr",
        "describe_repositories",
        "ecr:DescribeRepositories",
        {"existing_repository": "images"},
    ),
    "existing_roles_fit": ("iam", "get_role", "iam:GetRole", {"node_role": "arn:aws:iam::111122223333:role/Nodes"}),
    "permissions_boundary_exists": (
        "iam",
        "get_policy",
        "iam:GetPolicy",
        {"permissions_boundary": "arn:aws:iam::111122223333:policy/Boundary"},
    ),
    "stack_can_be_updated": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "deployed_resources_stay": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "kubernetes_release_is_the_next_one": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
    "no_job_holds_an_update": ("cloudformation", "describe_stacks", "cloudformation:DescribeStacks", {}),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_missing_permission_skips_a_check_and_names_the_action(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service, request, action, values = FIRST[check.__name__]
    account = StubbedAccount()
    account.answer_identity()
    account.forbid(service, request)
    _, found = run_checks(deployment(account, **values), (check,))
    assert (found.check, found.state) == (check.__name__.replace("_", " "), "skipped")
    assert (found.actual, found.remedy) == (f"your role may not {action}", f"allow the action {action}")


def test_what_a_check_found_before_it_is_kept() -> None:
    account = StubbedAccount()
    account.answer_identity()
    account.answer_no_stack()
    account.answer_quota(32)
    account.forbid("service-quotas", "get_service_quota")
    _, system, gpu = run_checks(deployment(account), (vcpu_quotas_allow_the_nodes,))
    assert (system.state, gpu.state) == ("ok", "skipped")
    assert gpu.remedy == "allow the action servicequotas:GetServiceQuota"


@pytest.mark.parametrize(
    "error", [UnreachableError("fsx cannot be reached"), RejectionError("ListClusters", "Throttling", "slow down")]
)
def test_another_failure_skips_a_check_with_its_words(error: Exception) -> None:
    def broken(_: Deployment) -> Iterator[CheckResult]:
        yield from ()
        raise error

    account = StubbedAccount()
    account.answer_identity()
    _, found = run_checks(deployment(account), (broken,))
    assert (found.check, found.state, found.actual) == ("broken", "skipped", str(error))


def test_a_mistake_of_the_program_is_not_hidden() -> None:
    def wrong(_: Deployment) -> Iterator[CheckResult]:
        raise KeyError("Value")
        yield

    account = StubbedAccount()
    account.answer_identity()
    with pytest.raises(KeyError):
        run_checks(deployment(account), (wrong,))


def test_checks_run_at_the_same_time_and_keep_their_order() -> None:
    both = threading.Barrier(2, timeout=30)

    def first(_: Deployment) -> Iterator[CheckResult]:
        both.wait()
        yield decided("first", True, actual="", needed="", remedy="")

    def second(_: Deployment) -> Iterator[CheckResult]:
        both.wait()
        yield decided("second", False, actual="", needed="", remedy="fix it")

    account = StubbedAccount()
    account.answer_identity()
    found = run_checks(deployment(account), (first, second))
    assert [each.check for each in found] == ["credentials", "first", "second"]
    assert found[0].actual == "arn:aws:iam::111122223333:user/me in us-west-2"


def test_without_credentials_no_check_runs() -> None:
    def never(_: Deployment) -> Iterator[CheckResult]:
        raise AssertionError
        yield

    account = StubbedAccount()
    account.forbid("sts", "get_caller_identity", code="InvalidClientTokenId")
    with pytest.raises(AwsError, match="AWS does not accept your credentials"):
        run_checks(deployment(account), (never,))


def actions(*modules: ModuleType) -> set[str]:
    """Return the IAM actions of the requests in the source of some modules."""
    text = "".join(inspect.getsource(module) for module in modules)
    calls = re.findall(r'\.(?:ask|all|find|pages)\(\s*"([\w-]+)",\s*"(\w+)"', text)
    names = {"service-quotas": "servicequotas", "efs": "elasticfilesystem"}
    found = {f"{names.get(service, service)}:{operation.title().replace('_', '')}" for service, operation in calls}
    # No policy can deny the question who one is.
    return {ACTIONS.get(each, each) for each in found - {"sts:GetCallerIdentity"}}


def test_the_page_lists_every_permission(root: Path) -> None:
    modules = (
        account_requests,
        deployed_stack,
        checked_deployment,
        cluster_state,
        lustre_state,
        *(inspect.getmodule(check) for check in CHECKS),
    )
    listed = re.findall(r"```json\n(.*?)```", (root / "docs/preflight.md").read_text(), flags=re.DOTALL)
    assert json.loads(listed[0]) == sorted(actions(*{each for each in modules if each}))
