"""The keys of EKS's add-ons: those by option, and versions."""

from pydantic import Field

from training_cluster.config.sections import SiteConfig
from training_cluster.platform.cluster_addon import AddonVersions
from training_workloads.catalog.kubernetes_releases import ADDONS
from training_workloads.validation import Problem, Problems

__all__ = ["AddonConfig"]


class AddonConfig(SiteConfig):
    """EKS's add-ons of a cluster.

    Attributes:
        ebs: Whether claims can have volumes on EBS, by a default StorageClass gp3.
        metrics_server: Whether `kubectl top` shows the use of nodes and pods.
        addon_versions: Versions of EKS's add-ons, by name. Default: those of the catalog for the release.
    """

    ebs: bool = False
    metrics_server: bool = False
    addon_versions: AddonVersions = Field(default={}, examples=["vpc-cni: v1.22.4-eksbuild.3"])

    @property
    def addons(self) -> tuple[str, ...]:
        """EKS's add-ons of the cluster, by name."""
        has_efs = self.efs or self.existing_efs is not None
        by_key = {"aws-efs-csi-driver": has_efs, "aws-ebs-csi-driver": self.ebs, "metrics-server": self.metrics_server}
        return tuple(name for name in ADDONS if by_key.get(name, True))


@AddonConfig.rule
def versions_are_of_addons_of_the_cluster(config: AddonConfig) -> Problems:
    """The version of another add-on would have no effect."""
    for name in config.addon_versions.keys() - set(config.addons):
        yield Problem(
            path=("addon_versions", name),
            given=config.addon_versions[name],
            allowed="this cluster does not have the add-on",
            fix="omit it, or add the driver or the metrics server with its key (efs, ebs, metrics_server)",
        )
