"""Training on Amazon SageMaker: its role, its network and a notebook instance."""
