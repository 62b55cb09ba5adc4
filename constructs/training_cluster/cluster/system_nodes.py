"""The system nodes, in every zone: the operator, the launchers and the cluster's own services run there."""

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.security.findings import accept_policy
from training_workloads.catalog.versions import SYSTEM_INSTANCE_TYPE

__all__ = ["MOST_SYSTEM_NODES", "NODE_POLICIES", "SYSTEM_NODES", "SystemNodes", "accept_node_policies"]

#: What EKS attaches to the role of a node: to join the cluster, to give addresses to pods, to pull images.
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")

#: How many run, one in each of two zones, and how many there are while they are replaced.
SYSTEM_NODES = 2
MOST_SYSTEM_NODES = SYSTEM_NODES + 1

_ROOT_VOLUME_GIB = 50

# One hop ends on the node: a pod cannot take the node's role. The drivers ask Kubernetes instead, and agents that need
# the service run on the host's network. https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
_METADATA_HOP_LIMIT = 1


class SystemNodes(Construct):
    """A managed node group with an encrypted root volume and no way from a pod to the node's credentials.

    Attributes:
        node_group: The EKS node group.
        launch_template: Where the volume and the metadata service are set.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        subnets: ec2.SubnetSelection,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Defines the nodes.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster that the nodes join.
            subnets: Private subnets.
            encryption_key: Key of the root volumes; it must let EC2 Auto Scaling in, as `TrainingKey` does. Default:
                the account's key for EBS.
        """
        super().__init__(scope, id)
        self.launch_template = self._launch_template(encryption_key)
        self.node_group = eks.Nodegroup(
            self,
            "Resource",
            cluster=cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
            instance_types=[ec2.InstanceType(SYSTEM_INSTANCE_TYPE)],
            min_size=SYSTEM_NODES,
            desired_size=SYSTEM_NODES,
            max_size=MOST_SYSTEM_NODES,
            subnets=subnets,
            enable_node_auto_repair=True,
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )
        accept_node_policies(self.node_group)

    def _launch_template(self, encryption_key: kms.IKey | None) -> ec2.CfnLaunchTemplate:
        template = ec2.CfnLaunchTemplate
        root_volume = template.EbsProperty(
            volume_type="gp3",
            volume_size=_ROOT_VOLUME_GIB,
            encrypted=True,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
        )
        return template(
            self,
            "LaunchTemplate",
            launch_template_data=template.LaunchTemplateDataProperty(
                metadata_options=template.MetadataOptionsProperty(
                    http_tokens="required", http_put_response_hop_limit=_METADATA_HOP_LIMIT
                ),
                block_device_mappings=[template.BlockDeviceMappingProperty(device_name="/dev/xvda", ebs=root_volume)],
            ),
        )


def accept_node_policies(node_group: eks.Nodegroup) -> None:
    """Accepts the managed policies of a node's role, system or GPU."""
    reason = "EKS names these three for a node's role and keeps them; none reads S3 or decrypts anything"
    accept_policy(node_group, reason, *NODE_POLICIES)
