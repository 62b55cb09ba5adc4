import aws_cdk as cdk
from training_cluster import ClusterMonitoring, LustreFileSystem, TrainingBucket, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MonitoredTraining")
network = TrainingNetwork(stack, "Network")
training = TrainingCluster(stack, "Cluster", vpc=network.vpc, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
lustre = LustreFileSystem(
    stack,
    "Lustre",
    vpc=network.vpc,
    subnet=network.training_subnet,
    clients=training.cluster.cluster_security_group,
    bucket=TrainingBucket(stack, "Data").bucket,
)
monitoring = ClusterMonitoring(
    stack, "Monitoring", cluster=training.cluster, file_system=lustre, alarm_email="team@example.com"
)
monitoring.node.add_dependency(training.system_nodes)
app.synth()
