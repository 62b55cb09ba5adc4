"""The Cluster Autoscaler: GPU nodes when a job waits for them, none when no job does."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.checks import Cluster, Mirror, RunningVersion
from training_cluster.identity.pod_identity import PodRole
from training_cluster.lifecycle import after_node_addons
from training_cluster.platform.helm_release import helm_release
from training_cluster.single_owner import own
from training_cluster.suppressions import suppress_wildcard
from training_workloads.catalog.images import Image
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.versions import CLUSTER_AUTOSCALER, KUBERNETES_VERSION
from training_workloads.keywords import checked

__all__ = ["ClusterAutoscaler", "scale_from_zero_tags"]

_NAMESPACE = "kube-system"
_SERVICE_ACCOUNT = "cluster-autoscaler"
_NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template/resources/"

# Reading, which IAM cannot narrow to a resource, and the two actions that change something.
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#iam-policy
_READ = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeTags",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
)
_CHANGE = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")


def scale_from_zero_tags(resources: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of a node group by which the autoscaler knows the resources of its nodes while it has none.

    It reads CPU, memory and GPUs from EC2, and labels and taints from EKS (`eks:DescribeNodegroup`), that of the
    capacity type included (https://github.com/kubernetes/autoscaler/pull/6261). It learns of EFA devices, huge pages
    and disk space only here (https://github.com/kubernetes/autoscaler/issues/1869); it takes the tags from the EKS node
    group, so they need not be on the Auto Scaling group.
    """
    return {f"{_NODE_TEMPLATE}{name}": amount for name, amount in resources.items()}


class ClusterAutoscaler(Construct):
    """Starts nodes of a group when pods wait for them, and stops them when they have been idle for ten minutes.

    Attributes:
        chart: The Helm release.
        role: The role of its pods.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: Cluster,
        kubernetes_version: RunningVersion | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        """Define the autoscaler.

        Args:
            cluster: The cluster with the node groups, ours or one of `aws_eks_v2`; it needs the Pod Identity agent.
            kubernetes_version: Release of the cluster. Default: that of a cluster of ours, else the catalog's newest.
            mirror: ECR registry with copies of chart and image. Default: the Kubernetes project's registry.

        Raises:
            InputError: EKS runs no such release, `mirror` is not an ECR registry, or the cluster has an
                autoscaler from another construct.
        """
        super().__init__(scope, id)
        version = kubernetes_version or str(getattr(cluster, "kubernetes_version", KUBERNETES_VERSION))
        own(self, cluster, "autoscaler")
        self.role = PodRole(self, "Role", cluster=cluster, namespace=_NAMESPACE, service_account=_SERVICE_ACCOUNT)
        _grant(self.role, cluster)
        reason = "reads no data, and changes only groups with the tag of this cluster"
        suppress_wildcard(self, reason, "*", _node_groups(cluster))
        values = _values(Stack.of(self).region, cluster)
        # The deployment fails where the autoscaler does not run; else a job would wait for ever.
        self.chart = helm_release(
            self,
            "Resource",
            cluster=cluster,
            release=CLUSTER_AUTOSCALER,
            image=_image(version),
            values=values,
            mirror=mirror,
            wait=True,
        )
        self.chart.node.add_dependency(self.role)
        after_node_addons(self, cluster)


def _image(version: str) -> Image:
    """Return the image for a release, or for the newest of the catalog where the cluster's is newer."""
    release = KUBERNETES_RELEASES.get(version)
    return (release or list(KUBERNETES_RELEASES.values())[-1]).autoscaler_image


def _grant(role: iam.IRole, cluster: eks.ICluster | eks.Cluster) -> None:
    role.add_to_principal_policy(iam.PolicyStatement(actions=list(_READ), resources=["*"]))
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=["eks:DescribeNodegroup"], resources=[_node_groups(cluster)])
    )
    # EKS puts this tag on the Auto Scaling groups of its node groups.
    of_this_cluster = {"StringEquals": {"aws:ResourceTag/eks:cluster-name": cluster.cluster_name}}
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=list(_CHANGE), resources=["*"], conditions=of_this_cluster)
    )


def _node_groups(cluster: eks.ICluster | eks.Cluster) -> str:
    stack = Stack.of(cluster)
    return stack.format_arn(service="eks", resource="nodegroup", resource_name=f"{cluster.cluster_name}/*")


def _values(region: str, cluster: eks.ICluster | eks.Cluster) -> dict[str, Any]:
    return {
        "awsRegion": region,
        # EKS tags the Auto Scaling groups of its node groups for this discovery.
        "autoDiscovery": {"clusterName": cluster.cluster_name},
        "rbac": {"serviceAccount": {"name": _SERVICE_ACCOUNT}},
        "extraArgs": {
            # Among the groups that fit, the one that leaves the fewest GPUs idle.
            "expander": "least-waste",
            # A new node has its GPUs before its EFA devices; an autoscaler that looks in between starts another node
            # (https://github.com/kubernetes/autoscaler/issues/7780).
            "scan-interval": "60s",
            # A large GPU instance takes longer than the default of 15 minutes to boot and load its driver.
            "max-node-provision-time": "30m",
            # A node is stopped when its devices stand idle, whatever its daemons ask for.
            "ignore-daemonsets-utilization": "true",
            # Nothing of the cluster's own runs on a GPU node but daemons, so none of it may keep one alive.
            "skip-nodes-with-system-pods": "false",
        },
    }
