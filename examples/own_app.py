import aws_cdk as cdk
from training_cluster import EfaDevicePlugin, GpuNodeGroup, GpuNodeGroupSpec, MpiOperator, NvidiaDevicePlugin
from training_cluster import TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyTraining")
network = TrainingNetwork(stack, "Network")
training = TrainingCluster(stack, "Cluster", vpc=network.vpc, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
where = {"cluster": training.cluster, "vpc": network.vpc, "subnet": network.training_subnet}
group = GpuNodeGroup(stack, "Gpu", spec=GpuNodeGroupSpec(instance_type="p4d.24xlarge", desired_size=2), **where)
group.node.add_dependency(training.network_addons)
for construct in (NvidiaDevicePlugin, EfaDevicePlugin, MpiOperator):
    construct(stack, construct.__name__, cluster=training.cluster)
app.synth()
