import cdk8s
from training_workloads import StageDataJob, StageDataJobSpec

app = cdk8s.App()
spec = StageDataJobSpec(
    name="stage-imagenet",
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
    source="s3://my-bucket/data/imagenet/",
    service_account="stage",
    pods=4,
)
StageDataJob(cdk8s.Chart(app, "stage-imagenet"), "Job", spec=spec)
app.synth()
