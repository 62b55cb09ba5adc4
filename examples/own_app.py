import aws_cdk as cdk
from training_cluster import TrainingBucket, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyTraining")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
cluster.add_lustre("Lustre", bucket=TrainingBucket(stack, "Bucket"))
cluster.add_platform("Platform")
app.synth()
