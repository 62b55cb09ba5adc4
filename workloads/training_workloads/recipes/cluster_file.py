"""The GPU nodes of `cluster.yaml`, for recipes that run on any type; `training_cluster` knows the rest of the file."""

from dataclasses import replace
from pathlib import Path

from training_workloads.catalog import supported_gpu_type
from training_workloads.manifests.values import mapping
from training_workloads.validation import InputError, Problem, check
from training_workloads.yaml_lines import read_yaml

__all__ = ["CLUSTER_FILE", "first_gpu_type"]

#: As `app.py` and `trainctl init` name it.
CLUSTER_FILE = "cluster.yaml"


def first_gpu_type(folder: Path = Path()) -> str | None:
    """Return the instance type of the first GPU node group; None where the folder has no file, or the file no group.

    Args:
        folder: Where `cluster.yaml` is. Default: the current folder.

    Raises:
        InputError: The file cannot be read, is not YAML, or the type is not one with GPUs.
    """
    file = folder / CLUSTER_FILE
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        allowed = f"it cannot be read ({error.strerror})"
        raise InputError(Problem(path=(), given=str(file), allowed=allowed, fix="correct or remove it")) from error
    for document in read_yaml(text, str(file)):
        for name, group in mapping(mapping(document.content).get("node_groups")).items():
            instance_type = mapping(group).get("instance_type")
            path = ("node_groups", name, "instance_type")
            found = supported_gpu_type(instance_type)
            check(replace(each.under(*path[:-1]), source=document.where(path)) for each in found)
            return str(instance_type)
    return None
