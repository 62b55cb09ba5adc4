import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from training_cluster import TrainingCluster

app = cdk.App()
stack = cdk.Stack(app, "Addition")
vpc = ec2.Vpc.from_vpc_attributes(
    stack,
    "Vpc",
    vpc_id="vpc-0123456789abcdef0",
    availability_zones=["us-east-1a", "us-east-1b"],
    private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
)
cluster = TrainingCluster.from_cluster_attributes(
    stack, "Cluster", cluster_name="research", cluster_security_group_id="sg-0123456789abcdef0", vpc=vpc
)
cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
cluster.add_platform("Platform")
app.synth()
