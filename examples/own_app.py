import aws_cdk as cdk
from training_cluster import EfaDevicePlugin, GpuNodeGroup, GpuNodeGroupSpec, MpiOperator, NvidiaDevicePlugin
from training_cluster import TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyTraining")
network = TrainingNetwork(stack, "Network")
vpc, subnet = network.vpc, network.training_subnet
cluster = TrainingCluster(stack, "Cluster", vpc=vpc).cluster
p4d = GpuNodeGroupSpec(instance_type="p4d.24xlarge", max_size=4)
GpuNodeGroup(stack, "Gpu", cluster=cluster, vpc=vpc, subnet=subnet, spec=p4d)
for plugin in (NvidiaDevicePlugin, EfaDevicePlugin):
    plugin(stack, plugin.__name__, cluster=cluster)
MpiOperator(stack, "MpiOperator", cluster=cluster)
app.synth()
