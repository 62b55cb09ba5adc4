"""An add-on of EKS, in the version of the catalog."""

from typing import Any

from aws_cdk import Annotations
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_workloads.catalog.kubernetes_releases import addon_version

__all__ = ["cluster_addon"]


def cluster_addon(
    scope: Construct,
    id: str,
    *,
    cluster: eks.ICluster,
    name: str,
    values: dict[str, Any] | None = None,
    kubernetes_version: str | None = None,
) -> eks.Addon:
    """Define an add-on in the version of the cluster's release; without one, in EKS's default when it is created.

    EKS never upgrades an add-on by itself (https://docs.aws.amazon.com/eks/latest/userguide/updating-an-add-on.html,
    read 2026-11-23): with a new release of the cluster the version here changes, and so the add-on. That of an older
    release is not sent: EKS rejects a version that it does not offer for the cluster's, and the stack fails. A cluster
    of another release than the catalog's, and one of the CDK, gets EKS's default.
    """
    release = kubernetes_version or getattr(cluster, "kubernetes_version", None)
    known = addon_version(name, release) if isinstance(release, str) else None
    addon = eks.Addon(
        scope,
        id,
        cluster=cluster,
        addon_name=name,
        addon_version=known.version if known and known.release == release else None,
        configuration_values=values,
        # Otherwise its pods would keep running without an owner, and without updates.
        preserve_on_delete=False,
    )
    resource = addon.node.default_child
    assert isinstance(resource, eks.CfnAddon)
    # The template has the settings. EKS's default, NONE, fails an update where a field was changed in the cluster
    # (https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateAddon.html, read 2026-11-23).
    resource.resolve_conflicts = "OVERWRITE"
    if known and known.release != release:
        # Not documented for CloudFormation. An update without a version keeps it (https://github.com/eksctl-io/eksctl/
        # pull/5803), and CloudFormation leaves an add-on with what a template no longer has
        # (https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1913; both read 2026-11-23).
        text = (
            f"no version of the add-on {name} is known for Kubernetes {release}, so the template has none: EKS "
            f"installs its default in a new cluster, and a deployed one, such as {known.version} of {known.release}, "
            "should stay as it is. See which EKS has with 'aws eks describe-addon-versions --kubernetes-version "
            f"{release} --addon-name {name}', and set one as docs/upgrade.md shows"
        )
        Annotations.of(addon).add_warning_v2("cdk-training-cluster:addon-without-a-version", text)
    return addon
