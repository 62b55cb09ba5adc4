import aws_cdk as cdk
from training_cluster import EfaDevicePlugin, NvidiaDevicePlugin, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Devices")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
NvidiaDevicePlugin(stack, "NvidiaDevicePlugin", cluster=cluster)
EfaDevicePlugin(stack, "EfaDevicePlugin", cluster=cluster)
app.synth()
