"""The recipes of this library."""

__all__ = ["NEEDS", "RECIPES", "RENAMED"]

#: The function of every recipe, by the name that its job has by default; imported when it is used, with cdk8s.
RECIPES = {
    "digits": "training_workloads.recipes.digits:digits",
    "digits-p4d": "training_workloads.recipes.digits:digits_p4d",
    "digits-p5": "training_workloads.recipes.digits:digits_p5",
    "digits-spot": "training_workloads.recipes.digits:digits_spot",
    "mask-rcnn-p3dn": "training_workloads.recipes.mask_rcnn:mask_rcnn_p3dn",
    "mask-rcnn-p4d": "training_workloads.recipes.mask_rcnn:mask_rcnn_p4d",
    "mask-rcnn-spot": "training_workloads.recipes.mask_rcnn:mask_rcnn_spot",
    "nccl-p3dn": "training_workloads.recipes.other_jobs:nccl_p3dn",
    "nccl-p4d": "training_workloads.recipes.other_jobs:nccl_p4d",
    "nccl-p5": "training_workloads.recipes.other_jobs:nccl_p5",
    "resnet50-p3dn": "training_workloads.recipes.resnet50:resnet50_p3dn",
    "resnet50-p4d": "training_workloads.recipes.resnet50:resnet50_p4d",
    "resnet50-p5": "training_workloads.recipes.resnet50:resnet50_p5",
    "resnet50-spot": "training_workloads.recipes.resnet50:resnet50_spot",
    "stage-data": "training_workloads.recipes.other_jobs:stage_data",
    "tensorboard": "training_workloads.recipes.other_jobs:tensorboard",
    "torch-efficientnet-b7-p3dn": "training_workloads.recipes.torch_jobs:torch_efficientnet_b7_p3dn",
    "torch-efficientnet-b7-p4d": "training_workloads.recipes.torch_jobs:torch_efficientnet_b7_p4d",
    "torch-resnet50-p3dn": "training_workloads.recipes.torch_jobs:torch_resnet50_p3dn",
    "torch-resnet50-p4d": "training_workloads.recipes.torch_jobs:torch_resnet50_p4d",
}

#: Values that only the user can know, by recipe and field.
NEEDS = {
    "stage-data": {
        "source": "the dataset's folder in S3, such as s3://<bucket>/data/imagenet/",
        "service_account": "the name of one whose pods may read that folder",
    }
}

#: The recipes that took the place of those for types of P3 that AWS has retired, by the old name.
RENAMED = {"digits-p3": "digits", **{name.removesuffix("dn"): name for name in RECIPES if name.endswith("-p3dn")}}
