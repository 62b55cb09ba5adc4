import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from training_cluster import ImageRepository, LustreFileSystem, SageMakerTraining, TrainingBucket, TrainingNetwork
from training_cluster import TrainingKey, TrainingNotebook

app = cdk.App()
stack = cdk.Stack(app, "ManagedTraining")
key = TrainingKey(stack, "Key")
bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
repository = ImageRepository(stack, "Images", encryption_key=key)
network = TrainingNetwork(stack, "Network", encryption_key=key)
lustre = LustreFileSystem(stack, "Lustre", vpc=network, subnet=network.training_subnet, bucket=bucket)
training = SageMakerTraining(
    stack,
    "Training",
    vpc=network,
    subnets=[network.training_subnet],
    bucket=bucket,
    repository=repository,
    lustre=lustre,
)
# A team that submits jobs, and a notebook instance that does.
team = iam.Role(stack, "Team", assumed_by=iam.AccountRootPrincipal())
training.grant_submit(team)
TrainingNotebook(
    stack,
    "Notebook",
    training=training,
    repository="https://github.com/my-team/training.git",
    encryption_key=key,
)
cdk.CfnOutput(stack, "TrainingRoleArn", value=training.role.role_arn)
app.synth()
