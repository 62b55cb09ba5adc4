import cdk8s
from training_workloads import TorchElasticJob, TorchElasticJobSpec

app = cdk8s.App()
spec = TorchElasticJobSpec(
    name="imagenet-torch",
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/imagenet-torch:1",
    command=(
        *("python", "-m", "training.torch_imagenet"),
        *("--data-dir", "/fsx/data/imagenet", "--output-dir", "/fsx/runs/imagenet-torch"),
        *("--checkpoint-every", "500steps"),
    ),
    instance_type="p4d.24xlarge",
    workers=2,
)
TorchElasticJob(cdk8s.Chart(app, "imagenet-torch"), "Job", spec=spec)
app.synth()
