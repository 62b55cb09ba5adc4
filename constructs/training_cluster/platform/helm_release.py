"""Charts of the catalog, from the upstream repositories or from a mirror."""

from collections.abc import Sequence
from typing import Any, cast

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_workloads.catalog.images import Image
from training_workloads.catalog.versions import HelmRelease
from training_workloads.platform.mirror import chart_repository, mirrored

__all__ = ["helm_release"]

_NAMESPACE = "kube-system"


def helm_release(
    scope: Construct,
    id: str,
    *,
    cluster: eks.ICluster | eks.Cluster,
    release: HelmRelease,
    image: Image,
    values: dict[str, Any],
    mirror: str | None,
    namespace: str = _NAMESPACE,
    image_value: Sequence[str] = ("image",),
    wait: bool = False,
) -> eks.HelmChart:
    """Install a chart; Helm creates a namespace that does not exist.

    The image's repository and tag are in the value of the path `image_value`; a mirror has copies of chart and image.
    With `wait` the deployment waits until the pods are ready.
    """
    # With the digest: the charts join repository and tag by a colon.
    values = _with(values, (*image_value, "tag"), image.version)
    if mirror:
        values = _with(values, (*image_value, "repository"), mirrored(image, mirror).name)
    return eks.HelmChart(
        scope,
        id,
        cluster=cast(eks.ICluster, cluster),
        chart=release.chart,
        repository=chart_repository(mirror, release.chart) if mirror else release.upstream_chart,
        version=release.version,
        # A fixed release name: CDK's own would carry a hash and a node would see two plugins after an id change.
        release=release.chart,
        namespace=namespace,
        wait=wait or None,
        values=values,
    )


def _with(values: dict[str, Any], path: Sequence[str], value: str) -> dict[str, Any]:
    """Return a copy of a chart's values with one more, behind those of the same section."""
    first, *rest = path
    return {**values, first: _with(values.get(first, {}), rest, value) if rest else value}
