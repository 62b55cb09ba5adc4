import json
from typing import Any

import pytest

from tests.constructs.site import Site, properties
from tests.constructs.team.shared_api import manifests
from training_cluster import TrainingCluster

SYSTEM = ["kube-system", "kueue-system", "mpi-operator", "amazon-cloudwatch"]


def open_policies(site: Site) -> dict[str, list[str]]:
    """Return the directions of the policies that open namespaces."""
    found = [each for each in manifests(site.template().to_json()) if each["kind"] == "NetworkPolicy"]
    return {
        each["metadata"]["namespace"]: each["spec"]["policyTypes"]
        for each in found
        if each["metadata"]["name"] == "open"
    }


def network_mode(site: Site) -> str | None:
    (addon,) = (each for each in properties(site.template(), "AWS::EKS::Addon") if each["AddonName"] == "vpc-cni")
    mode: str | None = json.loads(addon["ConfigurationValues"])["env"].get("NETWORK_POLICY_ENFORCING_MODE")
    return mode


@pytest.mark.parametrize("teams_first", [True, False])
def test_with_teams_a_pod_waits_for_its_policies_and_other_namespaces_stay_open(
    teams_first: bool, cluster: TrainingCluster, site: Site
) -> None:
    if teams_first:
        cluster.add_team("vision", user_id=2001)
    cluster.add_namespaces(["research"])
    if not teams_first:
        cluster.add_team("vision", user_id=2001)
    assert network_mode(site) == "strict"
    # A job's own policy closes its pods: they must not be open by another one.
    closed = {name: ["Egress"] for name in ("default", "research")}
    assert open_policies(site) == {name: ["Ingress", "Egress"] for name in SYSTEM} | closed


def test_the_network_waits_for_the_policies_and_the_pods_for_the_network(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_team("vision", user_id=2001)
    resources = site.template().to_json()["Resources"]
    (cni,) = (each for each in resources.values() if each["Properties"].get("AddonName") == "vpc-cni")
    before = [resources[id]["Properties"] for id in cni["DependsOn"]]
    waited = [json.loads(each["Manifest"]) for each in before if "Manifest" in each]
    found = {
        each["metadata"]["namespace"] for documents in waited for each in documents if each["kind"] == "NetworkPolicy"
    }
    assert found == {*SYSTEM, "default"}


def test_without_teams_nothing_changes(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_namespaces(["research"])
    assert network_mode(site) is None
    kinds = {each["kind"] for each in manifests(site.template().to_json())}
    assert not kinds & {"NetworkPolicy", "ResourceQuota", "ValidatingAdmissionPolicy"}
    (queue,) = (each for each in manifests(site.template().to_json()) if each["kind"] == "ClusterQueue")
    assert set(queue["spec"]) == {"namespaceSelector", "resourceGroups"}


def test_an_imported_cluster_has_teams_and_keeps_its_network_mode(site: Site) -> None:
    cluster = TrainingCluster.from_cluster_attributes(
        site.stack, "Jobs", cluster_name="jobs", cluster_security_group_id="sg-0123456789abcdef0", vpc=site.vpc
    )
    cluster.add_job_queue("Queue")
    cluster.add_team("vision", user_id=2001, member_arns=["arn:aws:iam::111122223333:role/Vision"])
    kinds: dict[str, Any] = {each["kind"]: each for each in manifests(site.template().to_json())}
    assert {"ValidatingAdmissionPolicy", "ResourceQuota", "NetworkPolicy", "LocalQueue"} <= set(kinds)
    entries = [each for each in properties(site.template(), "AWS::EKS::AccessEntry") if "KubernetesGroups" in each]
    assert [each["ClusterName"] for each in entries] == ["jobs"]
    assert not properties(site.template(), "AWS::EKS::Addon")
