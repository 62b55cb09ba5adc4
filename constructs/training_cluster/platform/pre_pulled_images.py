"""Images that every node of a cluster pulls when it joins."""

from collections.abc import Sequence
from typing import Any, cast

import cdk8s
from aws_cdk import Token
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import valid_cluster, valid_list
from training_cluster.lifecycle import after_node_addons
from training_cluster.single_owner import own
from training_workloads.names import image_fix
from training_workloads.platform.image_pre_pull import ImagePrePullChart
from training_workloads.validation import Problem, Problems, check

__all__ = ["PrePulledImages"]


class PrePulledImages(Construct):
    """Has GPU nodes and system nodes pull images when they join, and keep them.

    Attributes:
        manifest: The DaemonSet.
    """

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks.ICluster | eks.Cluster, images: Sequence[str]
    ) -> None:
        """Define the DaemonSet.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster: ours or one of `aws_eks_v2`.
            images: Addresses of images, such as `repository.repository_uri_for_tag("1")`.

        Raises:
            InputError: The cluster has no kubectl or has pre-pulled images already, or an address is not one.
        """
        super().__init__(scope, id)
        check(valid_cluster("cluster", cluster), valid_images("images", images))
        own(self, cluster, "pre-pulled images")
        chart = ImagePrePullChart(cdk8s.App(), "ImagePrePull", images=list(images))
        self.manifest = eks.KubernetesManifest(
            self, "Resource", cluster=cast(eks.ICluster, cluster), manifest=chart.to_json()
        )
        after_node_addons(self, cluster)


def valid_images(name: str, images: Any) -> Problems:
    """Reject what is not a list with the address of an image.

    Args:
        name: The argument, as the user typed it.
        images: What they gave.
    """
    if wrong := list(valid_list(name, images)):
        yield from wrong
    elif not images:
        yield Problem(path=(name,), given=images, fix="give the address of an image")
    else:
        for index, image in enumerate(images):
            if not Token.is_unresolved(image) and (fix := image_fix(image)):
                yield Problem(path=(name, index), given=image, fix=fix)
