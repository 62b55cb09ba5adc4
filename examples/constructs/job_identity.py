import aws_cdk as cdk
from training_cluster import JobIdentity, TrainingBucket, TrainingCluster, TrainingKey, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyJobs")
key = TrainingKey(stack, "Key").key
bucket = TrainingBucket(stack, "Bucket", encryption_key=key).bucket
network = TrainingNetwork(stack, "Network", encryption_key=key)
training = TrainingCluster(stack, "Cluster", vpc=network.vpc, encryption_key=key)
identity = JobIdentity(
    stack, "Resnet", cluster=training.cluster, bucket=bucket, prefix="runs/resnet50", service_account="resnet50"
)
identity.node.add_dependency(training.network_addons)
app.synth()
