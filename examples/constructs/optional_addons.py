import aws_cdk as cdk
from training_cluster import TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Optional")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
cluster.add_ebs_driver("EbsDriver")
cluster.add_metrics_server("MetricsServer")
app.synth()
