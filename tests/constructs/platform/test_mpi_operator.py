import json
from typing import Any

from tests.constructs.site import Site
from tests.schemas import check_manifest
from training_cluster import MpiOperator


def test_the_definition_is_applied_before_the_operator(site: Site) -> None:
    MpiOperator(site.stack, "MpiOperator", cluster=site.cluster)
    manifests = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    ids = {}
    for id, resource in manifests.items():
        for document in json.loads(resource["Properties"]["Manifest"]):
            check_manifest(_without_cdk_label(document))
            ids[document["kind"]] = id
    assert {ids["CustomResourceDefinition"], ids["Namespace"]} <= set(manifests[ids["Deployment"]]["DependsOn"])


def _without_cdk_label(document: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest without the label by which CDK prunes; its empty value is allowed."""
    labels = document["metadata"].get("labels", {})
    document["metadata"]["labels"] = {key: value for key, value in labels.items() if not key.startswith("aws.cdk.eks")}
    return document


def test_a_gang_scheduler(site: Site) -> None:
    MpiOperator(site.stack, "MpiOperator", cluster=site.cluster, gang_scheduler="volcano")
    manifests = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    assert any("--gang-scheduling=volcano" in resource["Properties"]["Manifest"] for resource in manifests.values())
