import cdk8s
from training_workloads import Scheduling, TorchElasticJob, TorchElasticJobSpec

app = cdk8s.App()
spec = TorchElasticJobSpec(
    name="vision-spot",
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/vision:1",
    command=("python", "train.py", "--output-dir", "/fsx/runs/vision-spot"),
    instance_type="p4d.24xlarge",
    workers=4,
    min_workers=1,
    max_workers=8,
    scheduling=Scheduling(capacity_type="SPOT"),
)
TorchElasticJob(cdk8s.Chart(app, "vision-spot"), "Job", spec=spec)
app.synth()
