"""Charts of the catalog, from the upstream repositories or from a mirror."""

from typing import Any, cast

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import valid_mirror
from training_workloads.catalog.versions import HelmRelease
from training_workloads.platform.mirror import chart_repository, mirrored
from training_workloads.validation import check

__all__ = ["helm_release"]

_NAMESPACE = "kube-system"


def helm_release(
    scope: Construct,
    id: str,
    *,
    cluster: eks.ICluster | eks.Cluster,
    release: HelmRelease,
    values: dict[str, Any],
    mirror: str | None,
    wait: bool = False,
) -> eks.HelmChart:
    """Install a chart into kube-system.

    Args:
        scope: A stack, or a construct in one.
        id: Id in the scope.
        cluster: The cluster.
        release: The chart and its version.
        values: Values of the chart.
        mirror: Registry with copies of chart and image. Default: the upstream registry.
        wait: Whether the deployment waits until the pods are ready.

    Raises:
        InputError: `mirror` is not an ECR registry.
    """
    check(valid_mirror(mirror))
    # All of the catalog's charts name their image by this value.
    image = {**values.get("image", {}), **({"repository": mirrored(release.image, mirror)} if mirror else {})}
    return eks.HelmChart(
        scope,
        id,
        cluster=cast(eks.ICluster, cluster),
        chart=release.chart,
        repository=chart_repository(mirror, release.chart) if mirror else release.repository,
        version=release.version,
        # A fixed release name: CDK's own would carry a hash and a node would see two plugins after an id change.
        release=release.chart,
        namespace=_NAMESPACE,
        wait=wait or None,
        values={**values, **({"image": image} if image else {})},
    )
