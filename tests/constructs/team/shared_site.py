"""A cluster that teams share, with all file systems, as a template."""

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions

from tests.constructs.team.policy_evaluation import as_text
from training_cluster import TrainingBucket, TrainingCluster, TrainingKey, TrainingNetwork

__all__ = ["TEAMS", "manifests", "shared_cluster", "template_of"]

#: The teams with their users.
TEAMS = {"vision": 1001, "nlp": 1002}


def shared_cluster(teams: dict[str, int], **lustre: Any) -> TrainingCluster:
    """Return a cluster with teams, each with a service account; half of the parts are added after the teams."""
    stack = cdk.Stack(cdk.App(), "Site")
    key = TrainingKey(stack, "Key")
    bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
    network = TrainingNetwork(stack, "Network")
    cluster = TrainingCluster(stack, "Cluster", vpc=network, encryption_key=key)
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=2)
    cluster.add_platform("Platform")
    cluster.add_lustre("Lustre", bucket=bucket, **lustre)
    cluster.add_job_queue("Queue")
    for name, user in teams.items():
        cluster.add_team(name, user_id=user, gpus={"gpu": 4})
        cluster.add_job_identity(name, bucket=bucket, namespace=name, prefix=f"teams/{name}")
    cluster.add_efs("Efs")
    return cluster


def template_of(cluster: TrainingCluster) -> dict[str, dict[str, Any]]:
    """Return the resources of the template, with references as text."""
    template = assertions.Template.from_stack(cdk.Stack.of(cluster)).to_json()
    return {id: as_text(resource) for id, resource in template["Resources"].items()}


def manifests(resources: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects of Kubernetes that the deployment applies."""
    applied = [each for each in resources.values() if each["Type"] == "Custom::AWSCDK-EKS-KubernetesResource"]
    return [document for each in applied for document in json.loads(each["Properties"]["Manifest"])]
