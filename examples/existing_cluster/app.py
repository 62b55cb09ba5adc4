"""GPU nodes, Lustre and the MPI operator for an existing EKS cluster."""

import sys
from typing import Any

try:
    from training_workloads.app_errors import errors_as_lines
except ModuleNotFoundError as error:
    sys.exit(f"error: {sys.executable} has no package '{error.name}'; activate the environment that README.md creates")

if __name__ == "__main__":
    errors_as_lines()

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from training_cluster import TrainingCluster
from training_workloads import InputError
from training_workloads.validation import MISSING, Problem


class GpuTrainingStack(cdk.Stack):
    """The additions to the cluster; cdk.json names what exists."""

    def __init__(self, scope: cdk.App, id: str, **kwargs: Any) -> None:
        super().__init__(scope, id, **kwargs)
        cluster = TrainingCluster.from_cluster_attributes(
            self,
            "Cluster",
            cluster_name=self.setting("cluster_name"),
            cluster_security_group_id=self.setting("cluster_security_group_id"),
            vpc=ec2.Vpc.from_vpc_attributes(
                self,
                "Vpc",
                vpc_id=self.setting("vpc_id"),
                availability_zones=self.setting("availability_zones", list),
                private_subnet_ids=self.setting("private_subnet_ids", list),
            ),
        )
        # Nodes and file system are in the first private subnet; nodes start when a job waits for them.
        cluster.add_gpu_node_group("Gpu", instance_type=self.setting("instance_type"), max_size=4)
        bucket = s3.Bucket.from_bucket_name(self, "Bucket", self.setting("bucket_name"))
        cluster.add_lustre("Lustre", bucket=bucket, capacity_gib=2400, throughput_mbps_per_tib=250)
        cluster.add_platform("Platform")

    def setting(self, name: str, kind: type = str) -> Any:
        """Return a value of cdk.json."""
        value = self.node.try_get_context(name)
        if value and isinstance(value, kind):
            return value
        given = MISSING if value is None else value
        fix = f"give a {'text' if kind is str else 'list'} in cdk.json, and start the app with 'cdk synth'"
        raise InputError(Problem(path=(name,), given=given, fix=fix))


if __name__ == "__main__":
    app = cdk.App()
    GpuTrainingStack(app, "GpuTraining")
    app.synth()
