import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from training_cluster import ClusterMonitoring, LustreFileSystem, TrainingBucket, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MonitoredTraining")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
bucket = TrainingBucket(stack, "Data")
lustre = LustreFileSystem(stack, "Lustre", vpc=network, subnet=network.training_subnet, bucket=bucket)
monitoring = ClusterMonitoring(stack, "Monitoring", cluster=cluster, file_system=lustre, alarm_email="team@example.com")
monitoring.dashboard.add_widgets(cloudwatch.GraphWidget(title="Bytes read", left=[lustre.metric_data_read_bytes()]))
app.synth()
