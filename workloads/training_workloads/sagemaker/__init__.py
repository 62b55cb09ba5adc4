"""The same jobs on SageMaker: from a job to a CreateTrainingJob request, and the training jobs of an account."""
