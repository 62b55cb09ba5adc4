import aws_cdk as cdk
from training_cluster import TrainingCluster, TrainingKey, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyCluster")
key = TrainingKey(stack, "Key").key
network = TrainingNetwork(stack, "Network", encryption_key=key)
TrainingCluster(
    stack,
    "Cluster",
    vpc=network.vpc,
    public_access_cidrs=["203.0.113.0/24"],
    admin_arns=["arn:aws:iam::111122223333:role/Admin"],
    encryption_key=key,
)
app.synth()
