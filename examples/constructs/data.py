import aws_cdk as cdk
from training_cluster import ImageBuild, ImageRepository, TrainingBucket, TrainingKey

app = cdk.App()
stack = cdk.Stack(app, "MyData")
key = TrainingKey(stack, "Key")
bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
repository = ImageRepository(stack, "Images", encryption_key=key)
build = ImageBuild(stack, "ImageBuild", repository=repository, encryption_key=key)
cdk.CfnOutput(stack, "BucketName", value=bucket.bucket_name)
cdk.CfnOutput(stack, "ImageRepositoryUri", value=repository.repository_uri)
cdk.CfnOutput(stack, "ImageBuildProject", value=build.project_name)
cdk.CfnOutput(stack, "ImageSourceBucket", value=build.sources.bucket_name)
app.synth()
