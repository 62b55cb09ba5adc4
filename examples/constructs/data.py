import aws_cdk as cdk
from training_cluster import ImageRepository, TrainingBucket, TrainingKey

app = cdk.App()
stack = cdk.Stack(app, "MyData")
key = TrainingKey(stack, "Key")
bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
repository = ImageRepository(stack, "Images", encryption_key=key)
cdk.CfnOutput(stack, "BucketName", value=bucket.bucket_name)
cdk.CfnOutput(stack, "RepositoryUri", value=repository.repository_uri)
app.synth()
