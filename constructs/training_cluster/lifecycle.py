"""The order in which the parts of a cluster are created, and in reverse deleted; no user writes `add_dependency`.

Each `after_…` takes a construct and its cluster; one of the CDK has nothing to wait for.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct, DependencyGroup

__all__ = ["ClusterDefaults", "after_admission", "after_namespaces", "after_network_addons", "after_node_addons"]


class ClusterDefaults:
    """The attributes of a cluster of this library that constructs read; a cluster of the CDK has these defaults.

    Attributes:
        network_addons: The add-ons that a node needs to become ready. None: another tool installed it.
        node_addons: The add-ons that run on nodes, such as the drivers of file systems. None: another tool installed
            it.
        node_version: Kubernetes release of the nodes. None: EKS takes the cluster's.
        encryption_key: Key of the nodes' volumes. None: the account's key for EBS.
        node_role: Role of all nodes. None: a new one for each node group.
        addon_versions: Versions of EKS's add-ons by name, in place of those of the catalog.
        has_efa: Whether a node group has EFA.
        gpu_types: Instance types of the GPU node groups.
        platform: The training platform; None before.
        volumes: The volumes of file systems, in the order of their definition.
        namespace_group: The group for which constructs in namespaces wait; None before one waits.
        admission_group: The same for webhooks on new jobs, such as Kueue's.
    """

    network_addons: Construct | None = None
    node_addons: Construct | None = None
    node_version: str | None = None
    encryption_key: kms.IKey | None = None
    node_role: iam.IRole | None = None
    addon_versions: Mapping[str, str] = MappingProxyType({})
    has_efa: bool = False
    gpu_types: frozenset[str] = frozenset()
    platform: Any = None
    volumes: tuple[Any, ...] = ()
    namespace_group: DependencyGroup | None = None
    admission_group: DependencyGroup | None = None

    def add_efa_plugin(self, *, has_efa: bool = False) -> None:
        """Add the EFA device plugin when there are both, a node group with EFA and a platform."""
        self.has_efa = self.has_efa or has_efa
        if self.has_efa and self.platform:
            self.platform.add_efa_device_plugin()

    def require_efs_driver(self) -> None:
        """Add the driver of EFS, where the cluster's add-ons are of this library."""

    def add_volume(self, volume: Construct) -> None:
        """Record a volume of a file system."""
        self.volumes = (*self.volumes, volume)

    def order_of_namespaces(self) -> DependencyGroup:
        """Return the group of the cluster's namespaces; the first call defines it."""
        self.namespace_group = self.namespace_group or DependencyGroup()
        return self.namespace_group

    def order_of_admission(self) -> DependencyGroup:
        """Return the group of the webhooks on jobs; the first call defines it."""
        self.admission_group = self.admission_group or DependencyGroup()
        return self.admission_group


def after_admission(construct: Construct, cluster: Any) -> None:
    """Create a construct after the webhooks that the cluster defines, now or later.

    The API server rejects a Job while the webhook that it must ask exists and does not answer yet.
    """
    if isinstance(cluster, ClusterDefaults):
        construct.node.add_dependency(cluster.order_of_admission())


def after_namespaces(construct: Construct, cluster: Any, namespace: str) -> None:
    """Create a construct after the namespaces that the cluster defines, now or later; `default` always exists."""
    if isinstance(cluster, ClusterDefaults) and namespace != "default":
        construct.node.add_dependency(cluster.order_of_namespaces())


def after_network_addons(construct: Construct, cluster: Any) -> None:
    """Create a construct after the cluster's network add-ons: for nodes and for service accounts with a role."""
    if isinstance(cluster, ClusterDefaults) and cluster.network_addons:
        construct.node.add_dependency(cluster.network_addons)


def after_node_addons(construct: Construct, cluster: Any) -> None:
    """Create a construct after the cluster's node add-ons, and delete it before: for volumes, charts and operators.

    A pod can leave its volume only while the driver runs.
    """
    if isinstance(cluster, ClusterDefaults) and cluster.node_addons:
        construct.node.add_dependency(cluster.node_addons)
