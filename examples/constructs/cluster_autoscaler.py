import aws_cdk as cdk
from training_cluster import ClusterAutoscaler, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Autoscaled")
network = TrainingNetwork(stack, "Network")
training = TrainingCluster(stack, "Cluster", vpc=network.vpc, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
autoscaler = ClusterAutoscaler(stack, "Autoscaler", cluster=training.cluster)
autoscaler.node.add_dependency(training.node_addons)
app.synth()
