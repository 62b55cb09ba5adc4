import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from training_cluster import JobIdentity, TrainingBucket, TrainingCluster, TrainingKey, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "MyJobs")
key = TrainingKey(stack, "Key")
bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
network = TrainingNetwork(stack, "Network", encryption_key=key)
cluster = TrainingCluster(stack, "Cluster", vpc=network, encryption_key=key)
identity = JobIdentity(
    stack, "Resnet", cluster=cluster, bucket=bucket, prefix="runs/resnet50", service_account="resnet50"
)
s3.Bucket.from_bucket_name(stack, "Datasets", "my-datasets").grant_read(identity, "imagenet/*")
app.synth()
