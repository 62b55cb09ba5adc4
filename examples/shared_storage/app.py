"""Network and file systems in a stack that stays, and a cluster that comes and goes."""

import aws_cdk as cdk
from training_cluster import (
    ElasticFileSystem,
    ElasticVolume,
    LustreFileSystem,
    LustreVolume,
    TrainingBucket,
    TrainingCluster,
    TrainingKey,
    TrainingNetwork,
)

app = cdk.App()

storage = cdk.Stack(app, "SharedStorage")
key = TrainingKey(storage, "Key")
network = TrainingNetwork(storage, "Network", encryption_key=key)
bucket = TrainingBucket(storage, "Bucket", encryption_key=key)
lustre = LustreFileSystem(
    storage, "Lustre", vpc=network, subnet=network.training_subnet, bucket=bucket, capacity_gib=2400, encryption_key=key
)
efs = ElasticFileSystem(storage, "Efs", vpc=network, encryption_key=key)
for name, value in {
    "VpcId": network.vpc_id,
    "AvailabilityZones": cdk.Fn.join(",", network.availability_zones),
    "PrivateSubnetIds": cdk.Fn.join(",", [subnet.subnet_id for subnet in network.node_subnets]),
    "LustreId": lustre.file_system_id,
    "LustreMountName": lustre.mount_name,
    "LustreCapacityGib": str(lustre.capacity_gib),
    "LustreSecurityGroupId": lustre.security_group.security_group_id,
    "EfsId": efs.file_system_id,
    "EfsAccessPointId": efs.access_point_id,
    "EfsSecurityGroupId": efs.security_group.security_group_id,
}.items():
    cdk.CfnOutput(storage, name, value=value)

# `cdk destroy Training` leaves the stack above, and the next `cdk deploy Training` finds every file.
training = cdk.Stack(app, "Training")
cluster = TrainingCluster(training, "Cluster", vpc=network, encryption_key=key, efs=True)
cluster.add_gpu_node_group("Gpu", instance_type="p4d.24xlarge", max_size=4)
LustreVolume(training, "LustreVolume", cluster=cluster, file_system=lustre)
ElasticVolume(training, "EfsVolume", cluster=cluster, file_system=efs)
cluster.add_platform("Platform")
cluster.add_monitoring("Monitoring", file_system=lustre)

app.synth()
