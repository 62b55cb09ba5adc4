import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from training_cluster import TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Nodes")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
cluster.add_gpu_node_group("on-demand", instance_type="p4d.24xlarge", max_size=4)
# The CDK's types and plain values are equal.
cluster.add_gpu_node_group(
    "spot", instance_type=ec2.InstanceType("g5.xlarge"), max_size=8, capacity_type=eks.CapacityType.SPOT
)
cluster.add_gpu_node_group(
    "block",
    instance_type="p5.48xlarge",
    max_size=16,
    capacity_type="CAPACITY_BLOCK",
    capacity_reservation_id="cr-0123456789abcdef0",
)
app.synth()
