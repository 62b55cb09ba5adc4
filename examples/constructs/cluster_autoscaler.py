import aws_cdk as cdk
from training_cluster import ClusterAutoscaler, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Autoscaled")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
ClusterAutoscaler(stack, "Autoscaler", cluster=cluster)
app.synth()
