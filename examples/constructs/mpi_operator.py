import aws_cdk as cdk
from training_cluster import MpiOperator, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Operator")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
MpiOperator(stack, "MpiOperator", cluster=cluster)
app.synth()
