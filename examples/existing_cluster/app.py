"""GPU nodes, Lustre and the MPI operator for an EKS cluster that exists already."""

import sys
from typing import Any

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
    LustreVolume,
    MpiOperator,
    NvidiaDevicePlugin,
)
from training_workloads import InputError


class GpuTrainingStack(cdk.Stack):
    """What is added to the cluster; what exists already stands in cdk.json."""

    def __init__(self, scope: cdk.App, id: str, **kwargs: Any) -> None:
        super().__init__(scope, id, **kwargs)
        self.vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=self.setting("vpc_id"),
            availability_zones=self.setting("availability_zones"),
            private_subnet_ids=self.setting("private_subnet_ids"),
        )
        self.cluster = ExistingCluster(
            self,
            "Cluster",
            cluster_name=self.setting("cluster_name"),
            cluster_security_group_id=self.setting("cluster_security_group_id"),
            vpc=self.vpc,
        ).cluster
        # GPU nodes and the file system share a zone: the first subnet's.
        self.subnet = self.vpc.private_subnets[0]
        self.add_nodes()
        self.add_file_system()

    def setting(self, name: str) -> Any:
        """A value of cdk.json."""
        return self.node.get_context(name)

    def add_nodes(self) -> None:
        """Nodes that start when a job waits for them, and what jobs need on them."""
        spec = GpuNodeGroupSpec(instance_type=self.setting("instance_type"), max_size=4)
        GpuNodeGroup(self, "Gpu", cluster=self.cluster, vpc=self.vpc, subnet=self.subnet, spec=spec)
        for construct in (NvidiaDevicePlugin, EfaDevicePlugin, ClusterAutoscaler, MpiOperator):
            construct(self, construct.__name__, cluster=self.cluster)

    def add_file_system(self) -> None:
        """Lustre, linked to the bucket, as the claim that jobs mount at /fsx."""
        lustre = LustreFileSystem(
            self,
            "Lustre",
            vpc=self.vpc,
            subnet=self.subnet,
            bucket=s3.Bucket.from_bucket_name(self, "Bucket", self.setting("bucket_name")),
            capacity=2400,
            throughput_mbps_per_tib=250,
        )
        LustreVolume(self, "LustreVolume", cluster=self.cluster, file_system=lustre)


app = cdk.App()
try:
    GpuTrainingStack(app, "GpuTraining")
except InputError as error:
    sys.exit(f"error: {error}")
app.synth()
