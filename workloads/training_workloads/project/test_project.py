"""Tests of this project: `python -m pytest`."""

import aws_cdk as cdk
from aws_cdk import assertions
from recipes import RECIPES

from app import build
from training_cluster import load_config


def test_the_cluster_has_nodes_for_every_job() -> None:
    """A job whose instance type no node group has waits for ever."""
    types = {group.instance_type for group in load_config("cluster.yaml").node_groups.values()}
    # Not every kind of job has GPUs, such as TensorBoard.
    wanted = {name: getattr(make(name), "instance_type", None) for name, make in RECIPES.items()}
    assert {name: wants for name, wants in wanted.items() if wants and wants not in types} == {}


def test_the_stacks_synthesize() -> None:
    """What can be known before a deployment is checked here."""
    stack = build(cdk.App()).node.find_child("TrainingClusterStack")
    assert isinstance(stack, cdk.Stack)
    assertions.Template.from_stack(stack).resource_count_is("AWS::EKS::Cluster", 1)
