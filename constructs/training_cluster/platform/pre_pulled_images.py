"""Images that every GPU node of a cluster pulls when it joins."""

from collections.abc import Iterable, Sequence
from typing import Annotated

import cdk8s
from aws_cdk import Annotations, Token
from constructs import Construct

from training_cluster.checks import Cluster
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import ClusterDefaults, after_node_addons
from training_cluster.single_owner import own
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.nodes import image_disk_gb
from training_workloads.keywords import checked
from training_workloads.names import image_fix
from training_workloads.platform.image_pre_pull import ImagePrePullChart
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems

__all__ = ["Images", "PrePulledImages"]

# An unpacked image for GPUs: 6.2 GB were measured (docs/images.md), and AWS states its times of a pull for 10 GB
# (docs/constructs/gpu-node-group.md). While the DaemonSet is replaced, a node has the old and the new one.
_IMAGE_GB = 10
_COPIES = 2

# Above it the kubelet deletes images that no pod uses (imageGCHighThresholdPercent, by default 85):
# https://kubernetes.io/docs/concepts/architecture/garbage-collection/#container-image-lifecycle (not read again)
_USABLE_PERCENT = 85


def _images(name: str, images: Sequence[str]) -> Problems:
    """Reject an empty list, and text that is not the address of an image."""
    if not images:
        yield Problem(path=(name,), given=images, fix="give the address of an image")
    for index, image in enumerate(images):
        if not Token.is_unresolved(image) and (fix := image_fix(image)):
            yield Problem(path=(name, index), given=image, fix=fix)


#: Addresses of images, one or more.
Images = Annotated[Sequence[str], Checked(_images, typed=tuple[str, ...])]


class PrePulledImages(Construct):
    """Has GPU nodes pull images when they join, and keep them.

    Attributes:
        manifest: The DaemonSet.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: Cluster, images: Images) -> None:
        """Define the DaemonSet.

        Args:
            cluster: The cluster: ours or one of `aws_eks_v2`.
            images: Addresses of images, such as `repository.repository_uri_for_tag("1")`.

        Raises:
            InputError: The cluster has no kubectl or has pre-pulled images already, or an address is not one.
        """
        super().__init__(scope, id)
        own(self, cluster, "pre-pulled images")
        chart = ImagePrePullChart(cdk8s.App(), "ImagePrePull", images=list(images))
        self.manifest = apply_manifest(self, "Resource", cluster=cluster, documents=chart.to_json())
        after_node_addons(self, cluster)
        if isinstance(cluster, ClusterDefaults):
            self._warn_of_small_disks(cluster.gpu_types, len(images))

    def _warn_of_small_disks(self, instance_types: Iterable[str], number: int) -> None:
        """Warn where the images can fill the disks of the node groups that are defined so far."""
        needed = number * _COPIES * _IMAGE_GB
        disks = {name: image_disk_gb(INSTANCE_TYPES[name]) for name in instance_types}
        small = {name: gb for name, gb in sorted(disks.items()) if needed > gb * _USABLE_PERCENT / 100}
        if small:
            listed = ", ".join(f"{name} ({gb} GB)" for name, gb in small.items())
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:pre-pulled-images-fill-the-disk",
                f"{number} images of {_IMAGE_GB} GB, each also in its next version, need {needed} GB, more than "
                f"{_USABLE_PERCENT} % of the disk of {listed}; name only the images that most jobs use",
            )
