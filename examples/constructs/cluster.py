import aws_cdk as cdk
from training_cluster import TrainingCluster, TrainingKey, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyCluster")
key = TrainingKey(stack, "Key")
cluster = TrainingCluster(
    stack,
    "Cluster",
    vpc=TrainingNetwork(stack, "Network", encryption_key=key),
    public_access_cidrs=["203.0.113.0/24"],
    admin_arns=["arn:aws:iam::111122223333:role/Admin"],
    encryption_key=key,
)
cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
cluster.add_platform("Platform")
cluster.add_monitoring("Monitoring", alarm_email="team@example.com")
app.synth()
