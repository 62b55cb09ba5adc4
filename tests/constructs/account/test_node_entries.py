from collections.abc import Mapping

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.deployed_stack import find_stack
from training_cluster.account.node_entries import NodeEntry, delete_entry, node_entries

ROLES = "arn:aws:iam::111122223333:role"
ENTRY = NodeEntry(cluster="shared", role=f"{ROLES}/GpuTraining-Nodes-1")
RESOURCES = {
    "Gpu": ("AWS::EKS::Nodegroup", "shared/gpu-1"),
    "Nodes": ("AWS::IAM::Role", "GpuTraining-Nodes-1"),
    "Kubectl": ("AWS::IAM::Role", "GpuTraining-Kubectl-1"),
}


@pytest.fixture
def account() -> StubbedAccount:
    return StubbedAccount()


def entries(account: StubbedAccount, resources: Mapping[str, tuple[str, ...]] = RESOURCES) -> list[NodeEntry]:
    account.answer_stack(resources)
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    return list(node_entries(account, stack))


def answer_entries(account: StubbedAccount, **kinds: str) -> None:
    arns = [f"{ROLES}/{name.replace('_', '-')}" for name in kinds]
    account.answer("eks", "list_access_entries", {"accessEntries": arns}, {"clusterName": "shared"})
    for arn, kind in zip(arns, kinds.values(), strict=True):
        if arn.rpartition("/")[2] in {id for _, id, *_ in RESOURCES.values()}:
            account.answer("eks", "describe_access_entry", {"accessEntry": {"principalArn": arn, "type": kind}})


def test_only_entries_of_the_stacks_node_roles_are_found(account: StubbedAccount) -> None:
    answer_entries(account, GpuTraining_Nodes_1="EC2_LINUX", GpuTraining_Kubectl_1="STANDARD", Other="EC2_LINUX")
    assert entries(account) == [ENTRY]
    account.all_asked()


def test_after_a_deletion_that_failed_they_are_found_too(account: StubbedAccount) -> None:
    deleted = {name: (*each, "DELETE_COMPLETE") for name, each in RESOURCES.items()}
    answer_entries(account, GpuTraining_Nodes_1="EC2_LINUX")
    assert entries(account, deleted) == [ENTRY]


def test_the_entries_of_the_stacks_own_cluster_go_with_it(account: StubbedAccount) -> None:
    assert entries(account, {**RESOURCES, "Cluster": ("AWS::EKS::Cluster", "shared")}) == []


def test_what_cannot_be_read_is_none(account: StubbedAccount) -> None:
    account.forbid("eks", "list_access_entries")
    assert entries(account) == []


def test_an_entry_is_deleted(account: StubbedAccount) -> None:
    account.answer("eks", "delete_access_entry", {}, {"clusterName": "shared", "principalArn": ENTRY.role})
    assert delete_entry(account, ENTRY) == f"removed the access entry of {ENTRY.role} from shared"
    account.all_asked()


def test_an_entry_that_cannot_be_deleted_is_named_with_its_command(account: StubbedAccount) -> None:
    account.forbid("eks", "delete_access_entry")
    assert delete_entry(account, ENTRY) == (
        f"the access entry of {ENTRY.role} is still in shared (your role may not eks:DeleteAccessEntry; allow the "
        "action eks:DeleteAccessEntry): run 'aws eks delete-access-entry --cluster-name shared --principal-arn "
        f"{ENTRY.role}'"
    )
