"""What a deployment creates, from the templates of both stacks."""

from textwrap import wrap

from docs.site.pictures.drawing import Arrow, Box, Group, Picture
from docs.site.pictures.template import Template, deployments
from training_workloads.catalog import gpu_instance_type

__all__ = ["cluster_picture"]

#: Types of resources that a box of the picture is about.
SHOWN = {
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::NatGateway",
    "AWS::EC2::PlacementGroup",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCEndpoint",
    "AWS::ECR::Repository",
    "AWS::EKS::Addon",
    "AWS::EKS::Cluster",
    "AWS::EKS::Nodegroup",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::FSx::FileSystem",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "Custom::AWSCDK-EKS-HelmChart",
    "Custom::AWSCDK-EKS-KubernetesResource",
}

#: Types of resources that connect or permit what the boxes show.
DETAILS = {
    "AWS::CDK::Metadata",
    "AWS::CodeBuild::Project",
    "AWS::EC2::EIP",
    "AWS::EC2::FlowLog",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::EKS::AccessEntry",
    "AWS::EKS::PodIdentityAssociation",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Logs::MetricFilter",
    "AWS::S3::BucketPolicy",
    "AWS::SSM::Parameter",
    "Custom::VpcRestrictDefaultSG",
}


def cluster_picture(data: Template, cluster: Template) -> Picture:
    """Return the picture of both stacks.

    Raises:
        ValueError: A type of resource is new: decide in this module whether the picture shows it.
    """
    if unknown := (data.types() | cluster.types()) - SHOWN - DETAILS:
        raise ValueError(f"neither in SHOWN nor in DETAILS: {', '.join(sorted(unknown))}")
    stacks = (
        Group(
            id="cluster",
            title="TrainingClusterStack: costs money by the hour",
            children=(_control(cluster), _monitoring(cluster), _vpc(cluster)),
        ),
        Group(id="data", title="TrainingDataStack: outlives every cluster", title_below=True, children=_kept(data)),
    )
    arrows = (
        Arrow(start="addons", end="system", hidden=True),
        Arrow(start="platform", end="gpu", hidden=True),
        Arrow(start="watch", end="ways", hidden=True),
        Arrow(start="gpu", end="lustre", label="/fsx", heads="both", beside=True),
        Arrow(start="lustre", end="bucket", label="new and changed files", heads="both"),
        Arrow(start="gpu", end="images", label="image", heads="back"),
        Arrow(start="system", end="key", hidden=True),
    )
    return Picture(title="What a deployment creates", children=stacks, arrows=arrows)


def _control(cluster: Template) -> Group:
    version = cluster.one("AWS::EKS::Cluster")["Version"]
    charts = [each["Release"] for each in cluster.of("Custom::AWSCDK-EKS-HelmChart")]
    own = [n for each in cluster.of("Custom::AWSCDK-EKS-KubernetesResource") for n in deployments(each["Manifest"])]
    addons = [each["AddonName"] for each in cluster.of("AWS::EKS::Addon")]
    return Group(
        id="eks",
        title=f"EKS, Kubernetes {version}",
        color="control",
        children=(
            Box(id="addons", title=f"{len(addons)} add-ons", lines=_rows(sorted(map(_short, addons)))),
            Box(id="platform", title="Platform", lines=tuple(sorted([*charts, *own]))),
        ),
    )


def _monitoring(cluster: Template) -> Group:
    watched = (
        f"{len(cluster.of('AWS::CloudWatch::Dashboard'))} dashboard",
        f"{len(cluster.of('AWS::CloudWatch::Alarm'))} alarms",
        f"{len(cluster.of('AWS::Logs::LogGroup'))} log groups",
    )
    box = Box(id="watch", title="Monitoring", lines=watched)
    return Group(id="cloudwatch", title="CloudWatch", children=(box,), color="control")


def _short(addon: str) -> str:
    return addon.removeprefix("amazon-").removeprefix("aws-").removeprefix("eks-")


def _rows(words: list[str]) -> tuple[str, ...]:
    return tuple(wrap(", ".join(words), 38, break_on_hyphens=False))


def _vpc(cluster: Template) -> Group:
    public = [each for each in cluster.of("AWS::EC2::Subnet") if each["MapPublicIpOnLaunch"]]
    private = [each for each in cluster.of("AWS::EC2::Subnet") if not each["MapPublicIpOnLaunch"]]
    ways = (f"{len(public)} public subnets", f"{len(cluster.of('AWS::EC2::NatGateway'))} NAT gateway", "S3 endpoint")
    return Group(
        id="vpc",
        title=f"VPC {cluster.one('AWS::EC2::VPC')['CidrBlock']}, {len(private)} zones, nodes in private subnets",
        color="network",
        children=(
            _system(cluster),
            *_gpu_groups(cluster),
            _lustre(cluster),
            Box(id="ways", title="Traffic", lines=ways),
        ),
    )


def _nodes(group: dict[str, dict[str, int]]) -> str:
    low, high = group["ScalingConfig"]["MinSize"], group["ScalingConfig"]["MaxSize"]
    return f"{low}" if low == high else f"{low} to {high}"


def _system(cluster: Template) -> Box:
    (group,) = (each for each in cluster.of("AWS::EKS::Nodegroup") if "InstanceTypes" in each)
    return Box(
        id="system", title="System nodes", lines=(f"{_nodes(group)} x {group['InstanceTypes'][0]}",), color="compute"
    )


def _gpu_groups(cluster: Template) -> list[Group]:
    return [_gpu_group(cluster, each) for each in cluster.of("AWS::EKS::Nodegroup") if "InstanceTypes" not in each]


def _gpu_group(cluster: Template, group: dict[str, dict[str, int]]) -> Group:
    template = cluster.referenced(group["LaunchTemplate"]["Id"])["LaunchTemplateData"]
    instance = gpu_instance_type(template["InstanceType"])
    interfaces = template["NetworkInterfaces"]
    efa = [each for each in interfaces if each.get("InterfaceType", "").startswith("efa")]
    lines = (
        f"{_nodes(group)} x {template['InstanceType']}",
        f"{instance.gpus} GPUs and {len(efa)} EFA interfaces each",
        *(["EFA security group"] if _has_efa_group(cluster) else []),
    )
    return Group(
        id="placement",
        title="Placement group" if "Placement" in template else "One zone",
        color="gpu",
        children=(Box(id="gpu", title="GPU node group", lines=lines, color="compute"),),
    )


def _has_efa_group(cluster: Template) -> bool:
    return any("EFA" in each["GroupDescription"] for each in cluster.of("AWS::EC2::SecurityGroup"))


def _lustre(cluster: Template) -> Box:
    file_system = cluster.one("AWS::FSx::FileSystem")
    settings = file_system["LustreConfiguration"]
    lines = (f"{file_system['StorageCapacity']} GiB", f"{settings['PerUnitStorageThroughput']} MB/s per TiB")
    return Box(id="lustre", title="FSx for Lustre", lines=lines, color="storage")


def _kept(data: Template) -> tuple[Box, ...]:
    kinds = (
        ("bucket", "S3 bucket", "data, runs", "AWS::S3::Bucket"),
        ("images", "ECR repository", "training images", "AWS::ECR::Repository"),
        ("key", "KMS key", "encrypts all of it", "AWS::KMS::Key"),
    )
    return tuple(
        Box(id=id, title=title, lines=(use, *(["kept on deletion"] if data.kept(kind) else [])), color="storage")
        for id, title, use, kind in kinds
    )
