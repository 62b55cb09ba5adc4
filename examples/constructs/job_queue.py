import aws_cdk as cdk
from training_cluster import TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Queued")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
cluster.add_namespaces(["research"])
cluster.add_platform("Platform")
cluster.add_job_queue("Queue")
app.synth()
