"""An add-on of EKS, in the version of the catalog."""

from collections.abc import Mapping
from typing import Annotated, Any

from aws_cdk import Annotations
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.lifecycle import ClusterDefaults
from training_workloads.catalog.kubernetes_releases import ADDONS, addon_version
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, known_names, matches

__all__ = ["AddonVersions", "cluster_addon"]

_VERSION = r"v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+"
_SHOWS_VERSIONS = "aws eks describe-addon-versions --addon-name"


def _versions(name: str, versions: Mapping[str, str]) -> Problems:
    """Reject add-ons that no cluster of this library has, and versions in another form than EKS's."""
    for addon, version in versions.items():
        if addon not in ADDONS:
            yield Problem(
                path=(name, addon), given=version, allowed="no such add-on is used", fix=known_names(addon, ADDONS)
            )
            continue
        rule = f"a version of EKS, such as v1.20.4-eksbuild.1 ({_SHOWS_VERSIONS} {addon})"
        for problem in matches(addon, version, _VERSION, rule):
            yield problem.under(name)


#: Versions of EKS's add-ons by name, in place of those of the catalog.
AddonVersions = Annotated[Mapping[str, str], Checked(_versions, typed=dict[str, str])]


def cluster_addon(
    scope: Construct,
    id: str,
    *,
    cluster: eks.ICluster,
    name: str,
    values: dict[str, Any] | None = None,
    kubernetes_version: str | None = None,
) -> eks.Addon:
    """Define an add-on in the version that the cluster names, or else the catalog's for its release.

    Without either it gets EKS's default when it is created.

    EKS never upgrades an add-on by itself (https://docs.aws.amazon.com/eks/latest/userguide/updating-an-add-on.html,
    read 2026-11-23): with a new release of the cluster the version here changes, and so the add-on. That of an older
    release is not sent: EKS rejects a version that it does not offer for the cluster's, and the stack fails. A cluster
    of another release than the catalog's, and one of the CDK, gets EKS's default.
    """
    release = kubernetes_version or getattr(cluster, "kubernetes_version", None)
    chosen = cluster.addon_versions.get(name) if isinstance(cluster, ClusterDefaults) else None
    known = addon_version(name, release) if isinstance(release, str) else None
    addon = eks.Addon(
        scope,
        id,
        cluster=cluster,
        addon_name=name,
        addon_version=chosen or (known.version if known and known.release == release else None),
        configuration_values=values,
        # Otherwise its pods would keep running without an owner, and without updates.
        preserve_on_delete=False,
    )
    resource = addon.node.default_child
    assert isinstance(resource, eks.CfnAddon)
    # The template has the settings. EKS's default, NONE, fails an update where a field was changed in the cluster
    # (https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateAddon.html, read 2026-11-23).
    resource.resolve_conflicts = "OVERWRITE"
    if known and known.release != release and not chosen:
        # Not documented for CloudFormation. An update without a version keeps it (https://github.com/eksctl-io/eksctl/
        # pull/5803), and CloudFormation leaves an add-on with what a template no longer has
        # (https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1913; both read 2026-11-23).
        text = (
            f"no version of the add-on {name} is known for Kubernetes {release}, so the template has none: EKS "
            f"installs its default in a new cluster, and a deployed one, such as {known.version} of {known.release}, "
            "should stay as it is. See which EKS has with 'aws eks describe-addon-versions --kubernetes-version "
            f"{release} --addon-name {name}', and set it in addon_versions"
        )
        Annotations.of(addon).add_warning_v2("cdk-training-cluster:addon-without-a-version", text)
    return addon
