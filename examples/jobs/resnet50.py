import cdk8s
from training_workloads import HorovodJob
from training_workloads.recipes.resnet50 import resnet50_p4d

app = cdk8s.App()
recipe = resnet50_p4d("resnet50-4-nodes")
spec = recipe.replaced(
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
    workers=4,
    # 32 GPUs with 256 images each: a batch of 8,192, for which MLPerf publishes values of LARS.
    command=(*recipe.command, "--optimizer", "lars"),
)
HorovodJob(cdk8s.Chart(app, spec.name), "Job", spec=spec)
app.synth()
