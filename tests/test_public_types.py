"""The types that users see: `mypy --strict` outside the repository, with the wheel, on examples and on mistakes.

`make types` runs it: its cache has the CDK's types, which mypy otherwise reads for most of a minute.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from setup.source_tree import PROJECT

MISTAKES = """\
import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from training_cluster import ClusterConfig, CompleteTrainingCluster, DataRepository, GpuNodeGroup
from training_cluster import MpiOperator, TrainingBucket, TrainingCluster, TrainingKey, TrainingNetwork
from training_cluster.config import GpuNodeGroupConfig
from training_workloads import HorovodJobSpec

stack = cdk.Stack(cdk.App(), "Site")
key = TrainingKey(stack, "Key")
bucket = TrainingBucket(stack, "Bucket", encryption_key=key)
network = TrainingNetwork(stack, "Network", encryption_key=key)
cluster = TrainingCluster(stack, "Cluster", vpc=network)
identity = cluster.add_job_identity("trainer", bucket=bucket, prefix="runs")
config = ClusterConfig(node_groups={"gpu": GpuNodeGroupConfig(instance_type="p4d.24xlarge")})
bucket.grant_read(identity)
MpiOperator(stack, "MpiOperator", cluster=cluster)
CompleteTrainingCluster(stack, "Complete", config=config, bucket=s3.Bucket(stack, "Other"))

TrainingBucket(stack, "B1", encryption_key="alias/mine")  # incompatible type "str"
TrainingNetwork(stack, "N1", encryption_key=bucket)  # incompatible type "TrainingBucket"
TrainingCluster(stack, "C1", vpc="vpc-0123456789abcdef0")  # incompatible type "str"
cluster.add_lustre("l1", bucket=key)  # incompatible type "TrainingKey"
MpiOperator(stack, "M1", cluster=network)  # incompatible type "TrainingNetwork"
GpuNodeGroup(stack, "G1", cluster=cluster, instance_type=5)  # incompatible type "int"
bucket.grant_read(stack)  # incompatible type "Stack"
cluster.add_gpu_node_group("g2", instance_typ="p4d.24xlarge")  # Unexpected keyword argument "instance_typ"
cluster.add_lustre("l2", availability_zone="us-east-1a")  # Unexpected keyword argument "availability_zone"
cluster.add_lustre("l3", capacity_gib="1200")  # incompatible type "str"
cluster.add_lustre("l4", data_repositories=["/data"])  # incompatible type "str"
DataRepository(folder="/data")  # Unexpected keyword argument "folder"
ClusterConfig(node_group={})  # Unexpected keyword argument "node_group"
GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size="2")  # incompatible type "str"
CompleteTrainingCluster(stack, "T1", config="cluster.yaml", bucket=bucket)  # incompatible type "str"
HorovodJobSpec(name="job", nodes="2")  # Unexpected keyword argument "nodes"
"""


@pytest.fixture(scope="module")
def found(root: Path, user_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """The errors of each file by line, as a user of the wheel sees them."""
    folder = tmp_path_factory.mktemp("files")
    # Without training scripts, whose packages are in another environment.
    examples = [path for path in (root / "examples").rglob("*.py") if path.parent.name != "own_job"]
    for example in examples:
        name = "_".join(example.relative_to(root / "examples").with_suffix("").parts)
        (folder / f"example_{name}.py").write_text(example.read_text())
    for file in PROJECT.glob("*.py"):
        (folder / file.name).write_text(file.read_text())
    for framework, name in (("tensorflow", "recipes.py"), ("torch", "torch_recipes.py")):
        (folder / name).write_text((PROJECT / framework / "recipes.py").read_text())
    (folder / "mistakes.py").write_text(MISTAKES)
    options = ["--strict", "--config-file=", "--hide-error-context", f"--cache-dir={root / '.mypy_cache'}"]
    command = ["mypy", *options, f"--python-executable={user_environment / 'bin/python'}"]
    command += map(str, sorted(folder.glob("*.py")))
    environment = {name: value for name, value in os.environ.items() if name not in ("MYPYPATH", "PYTHONPATH")}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    errors: dict[str, dict[int, str]] = {}
    for name, line, text in re.findall(r"^([\w/.]+\.py):(\d+): error: (.*)$", result.stdout, flags=re.M):
        errors.setdefault(Path(name).name, {})[int(line)] = text
    return errors


def test_the_examples_and_the_project_of_init_have_no_errors(found: dict[str, dict[int, str]]) -> None:
    assert {name: errors for name, errors in found.items() if name != "mistakes.py"} == {}


def test_mypy_reports_each_mistake(found: dict[str, dict[int, str]]) -> None:
    expected = {n: line.partition("  # ")[2] for n, line in enumerate(MISTAKES.splitlines(), 1) if "  # " in line}
    errors = found["mistakes.py"]
    assert errors.keys() == expected.keys()
    assert {line: text for line, text in errors.items() if expected[line] not in text} == {}
