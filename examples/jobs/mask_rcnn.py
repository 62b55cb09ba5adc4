import cdk8s
from training_workloads import HorovodJob
from training_workloads.mpijob.programs import MASK_RCNN_EVALUATION
from training_workloads.recipes.mask_rcnn import mask_rcnn_p4d

IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1"

app = cdk8s.App()
# The training tests once, at the end; a second job tests each checkpoint on one GPU.
recipe = mask_rcnn_p4d()
training = recipe.replaced(image=IMAGE, command=(*recipe.command, "--evaluate-every", "24epochs"))
folders = ("--data-dir", "/fsx/data/coco", "--output-dir", "/fsx/runs/mask-rcnn-p4d")
evaluation = training.replaced(
    name="mask-rcnn-evaluation",
    command=(*MASK_RCNN_EVALUATION, *folders, "--watch"),
    workers=1,
    gpus_per_worker=1,
    # One rank sends nothing between nodes.
    efa_interfaces=0,
)
for spec in (training, evaluation):
    HorovodJob(cdk8s.Chart(app, spec.name), "Job", spec=spec)
app.synth()
