"""The GPU nodes of `cluster.yaml`, for recipes that run on any type; `training_cluster` knows the rest of the file."""

from pathlib import Path

from training_workloads.catalog import InstanceType, gpu_instance_type, supported_gpu_type
from training_workloads.manifests.values import mapping
from training_workloads.validation import InputError
from training_workloads.yaml_lines import read_yaml

__all__ = ["gpu_nodes"]

# As `app.py` and `trainctl init` name it; other tools have files of this name, too.
_FILE = "cluster.yaml"


def gpu_nodes(folder: Path = Path()) -> list[InstanceType]:
    """Return the instance types of the GPU node groups, in their order.

    A recipe has a default without them: whether the file is right is the question of `cdk synth`, which reports it.

    Args:
        folder: Where `cluster.yaml` is. Default: the current folder.
    """
    try:
        documents = read_yaml((folder / _FILE).read_bytes())
    except (OSError, InputError):
        return []
    groups = [group for each in documents for group in mapping(mapping(each.content).get("node_groups")).values()]
    named = [mapping(group).get("instance_type") for group in groups]
    return [gpu_instance_type(str(name)) for name in named if not list(supported_gpu_type(name))]
