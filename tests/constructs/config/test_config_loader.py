from pathlib import Path

import pytest

from training_cluster import ClusterConfig, GpuNodeGroupSpec, LustreSpec, load_config
from training_workloads import InputError

MINIMAL = "node_groups:\n  gpu:\n    instance_type: p3.16xlarge\n"


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(MINIMAL)
    return path


def refusal(path: Path, context: dict[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load_config(path, context)
    return str(caught.value).replace(str(path), "cluster.yaml")


def test_a_minimal_file(config_file: Path) -> None:
    assert load_config(config_file) == ClusterConfig(
        node_groups={"gpu": GpuNodeGroupSpec(instance_type="p3.16xlarge")},
        lustre=LustreSpec(),
        efs=False,
        kubernetes_version="1.35",
        vpc_cidr="10.0.0.0/16",
        availability_zones=(),
        nat=True,
        public_access_cidrs=(),
        allow_any_address=False,
        admin_arns=(),
        service_accounts={},
        alarm_email=None,
        monthly_budget_usd=None,
    )


def test_the_file_that_comes_with_the_project(root: Path) -> None:
    config = load_config(root / "cluster.yaml")
    assert config.node_groups["gpu"] == GpuNodeGroupSpec(instance_type="p3.16xlarge", max_size=2)


def test_values_of_the_command_line_win(config_file: Path) -> None:
    context = {
        "node_groups.gpu.instance_type": "p4d.24xlarge",
        "node_groups.gpu.max_size": "4",
        "vpc_cidr": "10.9.0.0/16",
    }
    config = load_config(config_file, context)
    assert config.node_groups["gpu"] == GpuNodeGroupSpec(instance_type="p4d.24xlarge", max_size=4)
    assert config.vpc_cidr == "10.9.0.0/16"


def test_what_cdk_keeps_in_the_context_is_left_alone(config_file: Path) -> None:
    context = {
        "@aws-cdk/core:a": "true",
        "aws:cdk:enable-path-metadata": "true",
        "availability-zones:account=1:region=r": "x",
        "cli-telemetry": "false",
        "acknowledged-issue-numbers": "[1]",
    }
    assert load_config(config_file, context) == load_config(config_file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINIMAL + "lustre:\n  capcity_gib: 1200\n",
            "cluster.yaml cannot be used:\n  'key' is 'lustre.capcity_gib', which is not known; "
            "did you mean lustre.capacity_gib? known: lustre.availability_zone, lustre.capacity_gib, "
            "lustre.data_repositories, lustre.deployment_type, lustre.efa, lustre.throughput_mbps_per_tib",
        ),
        (
            MINIMAL.replace("instance_type", "instance"),
            "cluster.yaml cannot be used:\n  'node_groups.gpu.instance_type' is missing; add it\n"
            "  'key' is 'node_groups.gpu.instance', which is not known; did you mean node_groups.gpu.instance_type",
        ),
        (
            MINIMAL.replace("p3.16xlarge", "p3.16xlrge") + "lustre:\n  capacity_gib: 1000\n",
            "cluster.yaml cannot be used:\n  'node_groups.gpu.instance_type' is 'p3.16xlrge', which is not known; "
            "did you mean p3.16xlarge or p3.8xlarge or p3.2xlarge?\n"
            "  'lustre.capacity_gib' is 1000, which Lustre does not offer; "
            "give 1200 or a multiple of 2400, such as 1200",
        ),
        (
            MINIMAL + "    min_size: many\n",
            "cluster.yaml cannot be used:\n  'node_groups.gpu.min_size' is 'many'; "
            "input should be a valid integer, unable to parse string as an integer",
        ),
        (
            MINIMAL + "lustre: 1200\n",
            "'lustre' is 1200; write its keys below it: deployment_type, capacity_gib, throughput_mbps_per_tib, efa, ",
        ),
        (MINIMAL + "vpc_cidr: 10.0.0.0/28\n", "'vpc_cidr' is '10.0.0.0/28'; give a range from /16 to /20"),
        (MINIMAL + "availability_zones: [us-east-1a]\n", "'availability_zones' is ('us-east-1a',); give two or more"),
        (
            MINIMAL.replace("gpu:", "8 gpus:"),
            "'node_groups' has the name '8 gpus'; use letters, digits and '-', a letter",
        ),
        ("- a\n", "cluster.yaml holds list; write 'key: value' lines"),
        ("", "cluster.yaml holds NoneType; write 'key: value' lines"),
        ("a: [", "cluster.yaml is not YAML: "),
        (
            MINIMAL + "vpc_cidr: 10.0.0.0/16\nvpc_cidr: 10.1.0.0/16\n",
            "cluster.yaml is not YAML: 'vpc_cidr' is there twice",
        ),
        (MINIMAL + "admin_arns: [Admin]\n", "'admin_arns' has 'Admin'; give ARNs of IAM roles or users"),
        (MINIMAL + "admin_arns: me\n", "'admin_arns' is 'me'; input should be a valid list"),
        (MINIMAL + "public_access_cidrs: [10.0.0.0/8]\n", "'public_access_cidrs' has '10.0.0.0/8', which is private"),
    ],
)
def test_a_mistake_in_the_file(text: str, message: str, config_file: Path) -> None:
    config_file.write_text(text)
    assert message in refusal(config_file)


def test_a_version_without_quotes(config_file: Path) -> None:
    config_file.write_text(MINIMAL + "kubernetes_version: 1.35\n")
    assert "'kubernetes_version' is 1.35, a number; write it in quotes: \"1.35\"" in refusal(config_file)


def test_every_mistake_is_told_at_once_and_only_once(config_file: Path) -> None:
    config_file.write_text(
        """
node_groups:
  gpu: {instance_type: p4d.24xlrge, min_size: many, capacity_type: BLOCK}
  "8 c": {instance_type: p3.16xlarge, efa: true}
  d: 5
lustre: {capacity_gib: 1000, data_repositories: [{path: data}, {prefix: 5}]}
availability_zones: [us-east-1a]
vpc_cidr: 10.0.0.0/28
monthly_budget_usd: 0
foo: 1
"""
    )
    keys = [line.split("'")[1] for line in refusal(config_file).splitlines()[1:]]
    assert keys == [
        "node_groups.gpu.min_size",
        "node_groups.8 c.efa",
        "node_groups.d",
        "lustre.data_repositories.0.path",
        "lustre.data_repositories.1.prefix",
        "key",
        "node_groups.gpu.instance_type",
        "node_groups.gpu.capacity_type",
        "lustre.capacity_gib",
        "vpc_cidr",
        "availability_zones",
        "monthly_budget_usd",
        "alarm_email",
    ]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("instance_type", "p3.16xlarge", "'key' is 'instance_type', which is not known; known: admin_arns"),
        ("lustre.capacity", "1", "'key' is 'lustre.capacity', which is not known; did you mean lustre.capacity_gib"),
        (
            "node_groups.gpus.max_size",
            "1",
            "'key' is 'node_groups.gpus.max_size', which is not known; did you mean node_groups.gpu?",
        ),
        (
            "node_groups.gpu.max_size",
            "0",
            "'node_groups.gpu.max_size' is 0; give 1 or more",
        ),
        ("node_groups/gpu/max_size", "1", "'key' is 'node_groups/gpu/max_size', which is not known"),
        ("vpc_cidr", "a: [", "'vpc_cidr' is not YAML: "),
        ("luster.capacity_gib", "1", "'key' is 'luster', which is not known; did you mean lustre?"),
    ],
)
def test_a_mistake_on_the_command_line(key: str, value: str, message: str, config_file: Path) -> None:
    config_file.write_text(MINIMAL + "    min_size: 1\n" if key.endswith("gpu.max_size") else MINIMAL)
    assert message in refusal(config_file, {key: value})


def test_a_section_that_the_file_leaves_out_can_be_set(config_file: Path) -> None:
    assert load_config(config_file, {"lustre.capacity_gib": "2400"}).lustre.capacity_gib == 2400


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.yaml") == (
        "'config' is 'cluster.yaml', which is not a file; give another with '-c config=<file>'"
    )
