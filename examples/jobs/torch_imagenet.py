import cdk8s
from training_workloads import Scheduling, TorchElasticJob
from training_workloads.recipes.torch_jobs import torch_resnet50_p4d

app = cdk8s.App()
spec = torch_resnet50_p4d("resnet50-spot").replaced(
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training-torch:1",
    workers=4,
    max_workers=8,
    scheduling=Scheduling(capacity_type="SPOT"),
)
TorchElasticJob(cdk8s.Chart(app, spec.name), "Job", spec=spec)
app.synth()
