"""A place, an image and jobs, from which tests derive others."""

from dataclasses import replace
from typing import Any

from training_workloads import INSTANCE_TYPES, HorovodJobSpec
from training_workloads.recipes import recipe
from training_workloads.sagemaker.job_request import SageMakerJob, training_job_request
from training_workloads.sagemaker.place import Place

IMAGE = f"111122223333.dkr.ecr.us-west-2.amazonaws.com/images@sha256:{'a' * 64}"
ROLE = "arn:aws:iam::111122223333:role/SageMaker"
SUBNET = "subnet-0123456789abcdef0"
GROUP = "sg-0123456789abcdef0"

OUTPUTS = {
    "TrainingRoleArn": ROLE,
    "BucketName": "bucket",
    "SubnetIds": f"{SUBNET},subnet-0123456789abcdef1",
    "SecurityGroupId": GROUP,
    "ImageRepositoryUri": IMAGE.partition("@")[0],
}

#: With a VPC, and without Lustre.
PLACE = Place(role=ROLE, bucket="bucket", subnets=(SUBNET,), security_groups=(GROUP,))
WITH_LUSTRE = replace(PLACE, lustre_folder="fs-0123456789abcdef0:/abcdefgh")
WITHOUT_VPC = Place(role=ROLE, bucket="bucket")

#: A type with eight GPUs and no instance store. EC2 has retired all of those; what SageMaker has is not known.
WITHOUT_DISK = next(one.name for one in INSTANCE_TYPES.values() if one.gpus == 8 and not one.local_nvme_gb)


def job(recipe_name: str = "resnet50-p4d", /, **changes: Any) -> SageMakerJob:
    """Return a recipe's job; fields of the recipe's spec are those of `spec`."""
    spec = recipe(recipe_name, image=IMAGE, **changes.pop("spec", {}))
    return SageMakerJob(spec=spec, name=changes.pop("name", "job"), **changes)  # type: ignore[arg-type]


def own_job(*command: str, **changes: Any) -> SageMakerJob:
    """Return a job with a command, on one P4d."""
    spec = HorovodJobSpec(name="mine", image=IMAGE, command=command, instance_type="p4d.24xlarge", workers=1)
    return SageMakerJob(spec=spec, name="job", **changes)


def request(made: SageMakerJob, place: Place = PLACE) -> dict[str, Any]:
    """Return the request of a job."""
    return training_job_request(made, place)
