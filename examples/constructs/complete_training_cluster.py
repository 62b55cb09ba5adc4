import aws_cdk as cdk
from training_cluster import ClusterConfig, CompleteTrainingCluster, TrainingBucket, TrainingKey

app = cdk.App()
# One cluster for development, one in another region: a stage can hold each.
for name, region in (("Development", "us-east-1"), ("Production", "us-west-2")):
    stage = cdk.Stage(app, name, env=cdk.Environment(account="111122223333", region=region))
    stack = cdk.Stack(stage, "Training")
    key = TrainingKey(stack, "Key")
    config = ClusterConfig.model_validate(
        {
            "node_groups": {"gpu": {"instance_type": "p4d.24xlarge", "max_size": 4}},
            "admin_arns": ("arn:aws:iam::111122223333:role/Admin",),
        }
    )
    bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
    CompleteTrainingCluster(stack, "Cluster", config=config, bucket=bucket, encryption_key=key)
app.synth()
