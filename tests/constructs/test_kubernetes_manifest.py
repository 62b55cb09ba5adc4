import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.constructs.site import Site
from training_cluster import MpiOperator, Namespaces, TrainingCluster

KIND = "Custom::AWSCDK-EKS-KubernetesResource"


def manifests(site: Site) -> dict[str, dict[str, Any]]:
    """Return the resources by what they apply."""
    found = site.template().find_resources(KIND)
    return {" ".join(name_of(each)): {**each, "Id": id} for id, each in found.items()}


def name_of(resource: Mapping[str, Any]) -> list[str]:
    return [f"{each['kind']}/{each['metadata']['name']}" for each in json.loads(resource["Properties"]["Manifest"])]


def test_cloudformation_never_deletes_a_namespace(site: Site) -> None:
    Namespaces(site.stack, "Namespaces", cluster=site.cluster, names=["team"])
    MpiOperator(site.stack, "Operator", cluster=site.cluster)
    found = manifests(site)
    of_namespaces = {name: each for name, each in found.items() if "Namespace/" in name}
    assert of_namespaces.keys() == {"Namespace/team", "Namespace/mpi-operator"}
    for name, each in of_namespaces.items():
        assert (each["DeletionPolicy"], each["UpdateReplacePolicy"]) == ("Retain", "Retain"), name
    others = [each for name, each in found.items() if name not in of_namespaces]
    assert {each["DeletionPolicy"] for each in others} == {"Delete"}


def test_a_namespace_that_exists_is_used(site: Site) -> None:
    Namespaces(site.stack, "Namespaces", cluster=site.cluster, names=["team"])
    assert manifests(site)["Namespace/team"]["Properties"]["Overwrite"] is True


def test_nothing_prunes_a_namespace(site: Site) -> None:
    """An older release applied the namespace and its objects together, with the label by which kubectl prunes."""
    MpiOperator(site.stack, "Operator", cluster=site.cluster)
    found = manifests(site)
    namespace = found["Namespace/mpi-operator"]
    assert json.loads(namespace["Properties"]["Manifest"])[0]["metadata"] == {"name": "mpi-operator"}
    (operator,) = [each for name, each in found.items() if "Deployment/mpi-operator" in name]
    assert "PruneLabel" not in operator["Properties"]
    assert "PruneLabel" not in namespace["Properties"]
    assert namespace["Id"] in operator["DependsOn"]


def test_the_namespaces_of_an_imported_cluster_stay_too(site: Site) -> None:
    cluster = TrainingCluster.from_cluster_attributes(
        site.stack, "Jobs", cluster_name="jobs", cluster_security_group_id="sg-0123456789abcdef0", vpc=site.vpc
    )
    cluster.add_namespaces(["team"])
    assert manifests(site)["Namespace/team"]["DeletionPolicy"] == "Retain"


def test_every_construct_applies_its_objects_this_way(root: Path) -> None:
    sources = (root / "constructs/training_cluster").rglob("*.py")
    assert [each.name for each in sources if "KubernetesManifest(" in each.read_text()] == ["kubernetes_manifest.py"]
