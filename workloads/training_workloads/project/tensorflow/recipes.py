"""The jobs of this project: `trainctl render` writes one manifest for each name in `RECIPES`."""

from training_workloads import HorovodJobSpec


def train(name: str) -> HorovodJobSpec:
    """Two workers with one GPU each; the name is also that of the folder of the checkpoints."""
    return HorovodJobSpec(
        name=name,
        image="localhost/my-project:latest",  # for a cluster: trainctl render --image <its address in the registry>
        command=("python", "train.py", "--output-dir", f"/fsx/runs/{name}"),
        instance_type="p4d.24xlarge",
        workers=2,
        gpus_per_worker=1,
        efa_interfaces=0,  # TCP: EFA needs its software in the image, and whole nodes
    )


RECIPES = {"my-project": train}
