"""The stacks that `cdk deploy` knows by name."""

from stacks.sagemaker_training_stack import SageMakerTrainingStack
from stacks.training_cluster_stack import TrainingClusterStack
from stacks.training_data_stack import TrainingDataStack

__all__ = ["SageMakerTrainingStack", "TrainingClusterStack", "TrainingDataStack"]
