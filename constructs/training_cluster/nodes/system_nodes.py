"""The system nodes, in every zone: the operator, the launchers and the cluster's own services run there."""

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.nodes.ami_release import valid_ami_release
from training_cluster.nodes.newest_release import pinned_release
from training_cluster.nodes.node_parts import (
    IMAGES_MIB_PER_SECOND,
    launch_tags,
    limit_node_role,
    maintain,
    metadata_options,
    node_identity,
    root_volume,
)
from training_cluster.nodes.node_repair import NodeRepair
from training_cluster.nodes.system_nodes_spec import SystemNodesSpec
from training_cluster.nodes.zone_balance import UnbalancedZones
from training_workloads.catalog.provisioned_storage import RootVolume
from training_workloads.validation import check

__all__ = ["SYSTEM_VOLUME", "SystemNodes"]

#: Their root volume. The launchers run on them: a job starts when its image, gigabytes of it, has come there too. That
#: image of about 10 GB in two versions, packed and unpacked, is 40 GB, and from 85 % on the kubelet deletes images
#: (sources: platform/pre_pulled_images.py). The rest is for the AMI and the cluster's services.
SYSTEM_VOLUME = RootVolume.with_throughput(100, IMAGES_MIB_PER_SECOND)

_NAME = "system"


class SystemNodes(Construct):
    """A managed node group with an encrypted root volume; pods cannot reach the node's credentials.

    Attributes:
        ami_release: The release of the nodes' AMI; None where it was not looked up, so that EKS chooses.
        node_group: The EKS node group.
        launch_template: Volume and metadata service.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        subnets: ec2.SubnetSelection,
        kubernetes_version: str,
        spec: SystemNodesSpec,
        encryption_key: kms.IKey | None = None,
        node_role: iam.IRole | None = None,
    ) -> None:
        """Define the nodes.

        Args:
            cluster: The cluster that the nodes join.
            subnets: Private subnets.
            kubernetes_version: Release of the nodes, the cluster's.
            spec: Their type, their number and their AMI.
            encryption_key: Key of the root volumes; its policy must allow EC2 Auto Scaling, as that of `TrainingKey`
                does. Default: the account's key for EBS.
            node_role: Role of the nodes. Default: a new one.
        """
        super().__init__(scope, id)
        check(valid_ami_release(spec.ami_release, kubernetes_version))
        self.ami_release = pinned_release(self, spec, "standard", kubernetes_version)
        nodes = Construct(self, node_identity(spec.instance_type))
        self.launch_template = _launch_template(nodes, encryption_key, cluster.cluster_name)
        self.node_group = eks.Nodegroup(
            nodes,
            "Resource",
            cluster=cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
            release_version=self.ami_release,
            instance_types=[ec2.InstanceType(spec.instance_type)],
            min_size=spec.min_size,
            desired_size=spec.min_size,
            max_size=spec.maximum,
            subnets=subnets,
            node_role=node_role,
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )
        # In place, the one node left would have to hold all pods of the cluster's services meanwhile.
        maintain(self.node_group, kubernetes_version, update_in_place=False, repair=NodeRepair(overrides=()))
        limit_node_role(self.node_group, cluster)
        # A launcher may run on the node that would be ended.
        UnbalancedZones(
            nodes, "UnbalancedZones", cluster=cluster, node_group=self.node_group, encryption_key=encryption_key
        )


def _launch_template(nodes: Construct, encryption_key: kms.IKey | None, cluster_name: str) -> ec2.CfnLaunchTemplate:
    data = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
        metadata_options=metadata_options(),
        block_device_mappings=[root_volume(SYSTEM_VOLUME, encryption_key)],
        tag_specifications=launch_tags(nodes, cluster_name=cluster_name, name=_NAME),
    )
    return ec2.CfnLaunchTemplate(nodes, "LaunchTemplate", launch_template_data=data)
