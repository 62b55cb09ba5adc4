"""The system nodes, in every zone: the operator, the launchers and the cluster's own services run there."""

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.nodes.ami_release import LATEST, AmiRelease, valid_ami_release, valid_name
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
from training_workloads.catalog.versions import SYSTEM_INSTANCE_TYPE
from training_workloads.spec import Spec
from training_workloads.validation import Problems, check

__all__ = ["MOST_SYSTEM_NODES", "SYSTEM_NODES", "SystemNodes", "SystemNodesSpec"]

#: Their number, one in each of two zones, and their number during a replacement.
SYSTEM_NODES = 2
MOST_SYSTEM_NODES = SYSTEM_NODES + 1

# The launchers' image of about 10 GB in two versions, packed and unpacked, is 40 GB, and from 85 % on the kubelet
# deletes images (sources: platform/pre_pulled_images.py). The rest is for the AMI and the cluster's services.
_ROOT_VOLUME_GIB = 100

_NAME = "system"


class SystemNodesSpec(Spec):
    """The system nodes.

    Attributes:
        ami_release: Release of the AL2023 AMI of EKS, such as 1.35.0-20260917, or `latest`: the newest when `cdk` first
            looks it up, which `cdk.context.json` keeps.
    """

    ami_release: AmiRelease = LATEST


@SystemNodesSpec.rule
def ami_release_is_a_good_one(spec: SystemNodesSpec) -> Problems:
    """Reject digits that are not a day, and a release with a known fault."""
    yield from valid_name(spec.ami_release, "standard", SYSTEM_INSTANCE_TYPE)


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
        encryption_key: kms.IKey | None = None,
        spec: SystemNodesSpec,
    ) -> None:
        """Define the nodes.

        Args:
            cluster: The cluster that the nodes join.
            subnets: Private subnets.
            kubernetes_version: Release of the nodes, the cluster's.
            encryption_key: Key of the root volumes; its policy must allow EC2 Auto Scaling, as that of `TrainingKey`
                does. Default: the account's key for EBS.
            spec: Their options.
        """
        super().__init__(scope, id)
        check(valid_ami_release(spec.ami_release, kubernetes_version))
        self.ami_release = pinned_release(
            self,
            spec.ami_release,
            ami="standard",
            instance_type=SYSTEM_INSTANCE_TYPE,
            kubernetes_version=kubernetes_version,
        )
        nodes = Construct(self, node_identity(SYSTEM_INSTANCE_TYPE))
        self.launch_template = _launch_template(nodes, encryption_key, cluster.cluster_name)
        self.node_group = eks.Nodegroup(
            nodes,
            "Resource",
            cluster=cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
            release_version=self.ami_release,
            instance_types=[ec2.InstanceType(SYSTEM_INSTANCE_TYPE)],
            min_size=SYSTEM_NODES,
            desired_size=SYSTEM_NODES,
            max_size=MOST_SYSTEM_NODES,
            subnets=subnets,
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )
        # In place, the one node left would have to hold all pods of the cluster's services meanwhile.
        maintain(self.node_group, kubernetes_version, update_in_place=False, repair=NodeRepair(overrides=()))
        limit_node_role(self.node_group, cluster)


def _launch_template(nodes: Construct, encryption_key: kms.IKey | None, cluster_name: str) -> ec2.CfnLaunchTemplate:
    # The launchers run here: a job starts when its image, gigabytes of it, has come here too.
    volume = root_volume(_ROOT_VOLUME_GIB, encryption_key, mib_per_second=IMAGES_MIB_PER_SECOND)
    data = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
        metadata_options=metadata_options(),
        block_device_mappings=[volume],
        tag_specifications=launch_tags(nodes, cluster_name=cluster_name, name=_NAME),
    )
    return ec2.CfnLaunchTemplate(nodes, "LaunchTemplate", launch_template_data=data)
