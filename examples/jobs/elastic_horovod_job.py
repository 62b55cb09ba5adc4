import cdk8s
from training_workloads import ElasticHorovodJob, ElasticHorovodJobSpec, Scheduling

app = cdk8s.App()
spec = ElasticHorovodJobSpec(
    name="digits-spot",
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
    command=("python", "-m", "training.digits", "--output-dir", "/fsx/runs/digits-spot"),
    instance_type="p4d.24xlarge",
    workers=4,
    min_workers=1,
    max_workers=8,
    scheduling=Scheduling(capacity_type="SPOT"),
)
ElasticHorovodJob(cdk8s.Chart(app, "digits-spot"), "Job", spec=spec)
app.synth()
