"""GPU nodes, Lustre and the MPI operator for an EKS cluster that exists already."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from training_cluster import (
    ClusterAutoscaler,
    EfaDevicePlugin,
    ExistingCluster,
    GpuNodeGroup,
    GpuNodeGroupSpec,
    LustreFileSystem,
    LustreSpec,
    LustreVolume,
    MpiOperator,
    NvidiaDevicePlugin,
)

app = cdk.App()
stack = cdk.Stack(app, "GpuTraining")


def setting(name: str) -> str:
    """A value of cdk.json, or of the command line: `cdk deploy -c cluster_name=...`."""
    return str(app.node.get_context(name))


# What exists already.
vpc = ec2.Vpc.from_vpc_attributes(
    stack,
    "Vpc",
    vpc_id=setting("vpc_id"),
    availability_zones=app.node.get_context("availability_zones"),
    private_subnet_ids=app.node.get_context("private_subnet_ids"),
)
existing = ExistingCluster(
    stack,
    "Cluster",
    cluster_name=setting("cluster_name"),
    cluster_security_group_id=setting("cluster_security_group_id"),
    vpc=vpc,
)
bucket = s3.Bucket.from_bucket_name(stack, "Bucket", setting("bucket_name"))

# What is added: nodes and file system in the first of the private subnets.
subnet = vpc.private_subnets[0]
GpuNodeGroup(
    stack,
    "Gpu",
    cluster=existing.cluster,
    vpc=vpc,
    subnet=subnet,
    spec=GpuNodeGroupSpec(instance_type=setting("instance_type"), max_size=4),
)
lustre = LustreFileSystem(
    stack,
    "Lustre",
    vpc=vpc,
    subnet=subnet,
    clients=existing.cluster.cluster_security_group,
    bucket=bucket,
    spec=LustreSpec(capacity_gib=2400, throughput_mbps_per_tib=250),
)
LustreVolume(stack, "LustreVolume", cluster=existing.cluster, file_system=lustre)
for construct in (NvidiaDevicePlugin, EfaDevicePlugin, ClusterAutoscaler, MpiOperator):
    construct(stack, construct.__name__, cluster=existing.cluster)

app.synth()
