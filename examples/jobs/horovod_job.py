import cdk8s
from training_workloads import HorovodJob, HorovodJobSpec

app = cdk8s.App()
spec = HorovodJobSpec(
    name="digits",
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
    command=("python", "-m", "training.digits", "--output-dir", "/fsx/runs/digits"),
    instance_type="p4d.24xlarge",
    workers=2,
)
HorovodJob(cdk8s.Chart(app, "digits"), "Job", spec=spec)
app.synth()
