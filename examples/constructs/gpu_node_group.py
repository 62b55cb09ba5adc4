import aws_cdk as cdk
from training_cluster import GpuNodeGroup, GpuNodeGroupSpec, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Nodes")
network = TrainingNetwork(stack, "Network")
training = TrainingCluster(stack, "Cluster", vpc=network.vpc, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
groups = {
    "OnDemand": GpuNodeGroupSpec(instance_type="p4d.24xlarge", max_size=4),
    "Spot": GpuNodeGroupSpec(instance_type="g5.xlarge", max_size=8, capacity_type="SPOT"),
    "Block": GpuNodeGroupSpec(
        instance_type="p5.48xlarge",
        max_size=16,
        capacity_type="CAPACITY_BLOCK",
        capacity_reservation_id="cr-0123456789abcdef0",
    ),
}
for name, spec in groups.items():
    group = GpuNodeGroup(
        stack, name, cluster=training.cluster, vpc=network.vpc, subnet=network.training_subnet, spec=spec
    )
    group.node.add_dependency(training.network_addons)
app.synth()
