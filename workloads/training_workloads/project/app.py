"""The CDK app: what `cdk deploy` creates from cluster.yaml."""

from typing import Any

from training_workloads.app_errors import errors_as_lines

if __name__ == "__main__":
    # Before the other imports, which take seconds: Ctrl-C and mistakes in cluster.yaml end without a traceback.
    errors_as_lines()

import aws_cdk as cdk

from training_cluster import (
    ClusterConfig,
    CompleteSageMakerTraining,
    CompleteTrainingCluster,
    ImageBuild,
    ImageRepository,
    TrainingBucket,
    TrainingBudget,
    TrainingKey,
    load_config,
)


class TrainingDataStack(cdk.Stack):
    """What outlives every cluster: the key, the bucket of data and results, the repository of images, the budget."""

    def __init__(self, app: cdk.App, config: ClusterConfig) -> None:
        """Define the stack."""
        super().__init__(app, "TrainingDataStack", termination_protection=config.deletion_protection)
        self.key = TrainingKey(self, "Key")
        self.bucket = TrainingBucket(self, "Bucket", encryption_key=self.key)
        self.repository = ImageRepository(self, "Images", encryption_key=self.key)
        build = ImageBuild(self, "ImageBuild", repository=self.repository, encryption_key=self.key)
        if config.monthly_budget_usd is not None and config.alarm_email is not None:
            TrainingBudget(self, "Budget", monthly_usd=config.monthly_budget_usd, email=config.alarm_email)
        cdk.CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        cdk.CfnOutput(self, "ImageRepositoryUri", value=self.repository.repository_uri)
        cdk.CfnOutput(self, "ImageBuildProject", value=build.project_name)
        cdk.CfnOutput(self, "ImageSourceBucket", value=build.sources.bucket_name)


class TrainingClusterStack(cdk.Stack):
    """What costs money by the hour and can be destroyed at any time."""

    def __init__(self, app: cdk.App, data: TrainingDataStack, config: ClusterConfig) -> None:
        """Define the stack."""
        super().__init__(app, "TrainingClusterStack", termination_protection=config.deletion_protection)
        # CDK omits "Default" from the names of outputs.
        CompleteTrainingCluster(self, "Default", config=config, bucket=data.bucket, encryption_key=data.key)


def build(app: cdk.App) -> cdk.App:
    """Define the stacks of cluster.yaml; `-c <key>=<value>` overrides a value of it, `-c config=<file>` all of it."""
    context: dict[str, Any] = dict(app.node.get_all_context())
    config = load_config(context.pop("config", "cluster.yaml"), context)
    data = TrainingDataStack(app, config)
    TrainingClusterStack(app, data, config)
    if config.sagemaker:
        CompleteSageMakerTraining(
            cdk.Stack(app, "SageMakerTrainingStack"),
            "Default",
            config=config.sagemaker,
            bucket=data.bucket,
            repository=data.repository,
            encryption_key=data.key,
        )
    return app


if __name__ == "__main__":
    build(cdk.App()).synth()
