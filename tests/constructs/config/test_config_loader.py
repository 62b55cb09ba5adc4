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
            "cluster.yaml cannot be used:\n  'lustre.capcity_gib' is not a key; did you mean capacity_gib? known: "
            "availability_zone, capacity_gib, data_repositories, deployment_type, efa, throughput_mbps_per_tib",
        ),
        (
            MINIMAL.replace("instance_type", "instance"),
            "cluster.yaml cannot be used:\n  'node_groups.gpu.instance_type' is missing; add it\n"
            "  'node_groups.gpu.instance' is not a key; did you mean instance_type? known: ami_release, ",
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
            "cluster.yaml cannot be used:\n  'node_groups.gpu.min_size' is 'many'; give a whole number, such as 0",
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
        ("- a\n", "cluster.yaml holds a list; write 'key: value' lines"),
        ("", "cluster.yaml is empty; write 'key: value' lines"),
        ("12\n", "cluster.yaml holds 12; write 'key: value' lines"),
        ("a: [", "cluster.yaml is not YAML, line 1, column 5: while parsing a flow node, expected the node content"),
        ("[" * 3000, "cluster.yaml is not YAML that can be read: it is nested without end"),
        (
            MINIMAL + "vpc_cidr: 10.0.0.0/16\nvpc_cidr: 10.1.0.0/28\n",
            "cluster.yaml cannot be used:\n  'vpc_cidr' is there twice, in lines 4 and 5; keep one\n"
            "  'vpc_cidr' is '10.1.0.0/28'; give a range from /16 to /20",
        ),
        (
            MINIMAL + "vpc_cdir: 10.0.0.0/16\n",
            "cluster.yaml cannot be used:\n  'vpc_cdir' is not a key; did you mean vpc_cidr?",
        ),
        (MINIMAL + "vpc_cidr: 2026-01-01\n", "'vpc_cidr' is '2026-01-01', which is not an IPv4 range"),
        (MINIMAL + "admin_arns: [Admin]\n", "'admin_arns' has 'Admin'; give ARNs of IAM roles or users"),
        (MINIMAL + "admin_arns: me\n", "'admin_arns' is 'me'; give a list: [me]"),
        (MINIMAL + "public_access_cidrs: [10.0.0.0/8]\n", "'public_access_cidrs' has '10.0.0.0/8', which is private"),
    ],
)
def test_a_mistake_in_the_file(text: str, message: str, config_file: Path) -> None:
    config_file.write_text(text)
    assert message in refusal(config_file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kubernetes_version: 1.30", '\'kubernetes_version\' is 1.3, a number; give one of "1.34", "1.35", in quotes'),
        (
            "vpc_cidr: 10",
            "'vpc_cidr' is 10, a number; give text, such as 10.0.0.0/16, in quotes if it looks like a number",
        ),
        (
            "availability_zones: [us-east-1a, 2]",
            "'availability_zones.1' is 2, a number; give text, in quotes if it looks like a number",
        ),
        ("alarm_email: yes", "'alarm_email' is true, not text; give text, in quotes if it looks like true or false"),
        ("vpc_cidr: [a]", "'vpc_cidr' is [a], not text; give text, such as 10.0.0.0/16"),
        (
            "availability_zones: us-east-1a,us-east-1b",
            "'availability_zones' is 'us-east-1a,us-east-1b'; give a list: [us-east-1a, us-east-1b]",
        ),
        (
            "availability_zones: {a: b}",
            "'availability_zones' is {a: b}; give a list, such as [us-east-1a, us-east-1b]",
        ),
        ("availability_zones: [~]", "'availability_zones.0' is left empty; give a value or remove the line"),
        (
            "lustre: {data_repositories: runs}",
            "'lustre.data_repositories' is 'runs'; give a list, such as [{path: /data, prefix: data/}]",
        ),
        ("efs: enabled", "'efs' is 'enabled'; give true or false"),
        ("lustre: {capacity_gib: 1200 GiB}", "'lustre.capacity_gib' is '1200 GiB'; give a whole number, such as 1200"),
        ("lustre: {capacity_gib: 1.2}", "'lustre.capacity_gib' is 1.2; give a whole number, such as 1200"),
        (
            "lustre: false",
            "'lustre' is false, but a cluster always has one; remove the section for the default, "
            "or write its keys below it: deployment_type, capacity_gib, ",
        ),
        (
            "service_accounts: [a]",
            "'service_accounts' is [a]; write names with their keys below them, such as trainer: {",
        ),
        ("service_accounts: {a: {prefix: }}", "'service_accounts.a.prefix' is left empty; give a value"),
    ],
)
def test_a_value_of_another_type(text: str, message: str, config_file: Path) -> None:
    config_file.write_text(f"{MINIMAL}{text}\n")
    lines = refusal(config_file).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(f"  {message}")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("", "'node_groups' is left empty; write names with their keys below them, such as gpu: {instance_type: …}"),
        ("[gpu]", "'node_groups' is [gpu]; write names with their keys below them, such as gpu: {instance_type: …}"),
        ("{gpu: }", "'node_groups.gpu' is left empty; write its keys below it: instance_type, min_size, "),
        ("{gpu: {instance_type: }}", "'node_groups.gpu.instance_type' is left empty; give a value"),
        (
            "{gpu: {instance_type: p3.2xlarge, max_size: two}}",
            "'node_groups.gpu.max_size' is 'two'; give a whole number",
        ),
        (
            "{gpu: {instance_type: 4}}",
            "'node_groups.gpu.instance_type' is 4, a number; give text, such as p4d.24xlarge, in quotes if",
        ),
    ],
)
def test_a_node_group_of_another_type(groups: str, message: str, config_file: Path) -> None:
    config_file.write_text(f"node_groups: {groups}\nvpc_cidr: 10.0.0.0/28\n")
    first, second = refusal(config_file).splitlines()[1:]
    assert first.startswith(f"  {message}")
    assert second == "  'vpc_cidr' is '10.0.0.0/28'; give a range from /16 to /20"


def test_a_key_left_empty_has_its_default(config_file: Path) -> None:
    config = load_config(config_file)
    config_file.write_text(
        MINIMAL + "    max_size:\n    efa:\nservice_accounts:\npublic_access_cidrs:\nlustre:\nalarm_email:\nefs:\n"
    )
    assert load_config(config_file) == config


def test_a_key_is_the_text_that_was_typed(config_file: Path) -> None:
    config_file.write_text("node_groups: {yes: {instance_type: p3.2xlarge}}\nservice_accounts: {1: {prefix: runs}}\n")
    config = load_config(config_file)
    assert (list(config.node_groups), list(config.service_accounts)) == (["yes"], ["1"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node_groups: {1: {instance_type: p4d.24xlarge}}", "'node_groups' has the name '1'; use letters, digits"),
        (MINIMAL + "1: 2", "'1' is not a key; known: admin_arns"),
        (MINIMAL + "~: 2", "'~' is not a key; known: admin_arns"),
        (MINIMAL + "service_accounts: {on: 5}", "'service_accounts.on' is 5; write its keys below it: prefix, "),
        (MINIMAL + "? [a]\n: b", "the file has a list as a key, in line 4; give a name"),
        (MINIMAL + "lustre: {{a: b}: c}", "'lustre' has a mapping as a key, in line 4; give a name"),
    ],
)
def test_a_key_that_is_no_name(text: str, message: str, config_file: Path) -> None:
    config_file.write_text(f"{text}\n")
    assert f"cluster.yaml cannot be used:\n  {message}" in refusal(config_file)


def test_the_name_of_a_group_with_a_mistake_is_told_as_well(config_file: Path) -> None:
    config_file.write_text("node_groups: {gpu_1: {instance_type: p5}}\n")
    assert refusal(config_file) == (
        "cluster.yaml cannot be used:\n"
        "  'node_groups.gpu_1.instance_type' is 'p5', which is not known; did you mean p5.4xlarge or p5.48xlarge?\n"
        "  'node_groups' has the name 'gpu_1'; use letters, digits and '-', a letter first"
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("availability_zones: [us-east-1a, 5]\nlustre: {availability_zone: us-east-1a}", "availability_zones.1"),
        ("    ami_release: 1.34.0-20260917\nkubernetes_version: 1.34", "kubernetes_version"),
        ("    min_size: 0\n    desired_size: 3\n    max_size: two", "node_groups.gpu.max_size"),
        ("alarm_email: 5\nmonthly_budget_usd: 3", "alarm_email"),
    ],
)
def test_a_value_with_a_mistake_is_not_held_against_another(text: str, key: str, config_file: Path) -> None:
    config_file.write_text(f"{MINIMAL}{text}\n")
    assert [line.split("'")[1] for line in refusal(config_file).splitlines()[1:]] == [key]


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
        "foo",
        "node_groups.gpu.instance_type",
        "node_groups.gpu.capacity_type",
        "lustre.capacity_gib",
        "node_groups",
        "vpc_cidr",
        "availability_zones",
        "monthly_budget_usd",
        "alarm_email",
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("instance_type", "p3.16xlarge", "'instance_type' is not a key; known: admin_arns"),
        ("lustre.capacity", "1", "'lustre.capacity' is not a key; did you mean capacity_gib?"),
        (
            "node_groups.gpus.max_size",
            "1",
            "'node_groups.gpus.max_size' is a value of node_groups.gpus, which is not in the file; did you mean gpu? "
            "known: gpu; give a new one as a whole: -c 'node_groups.gpus={instance_type: …}'",
        ),
        (
            "service_accounts.a.prefix",
            "runs",
            "'service_accounts.a.prefix' is a value of service_accounts.a, which is not in the file; "
            "give a new one as a whole: -c 'service_accounts.a={prefix: …}'",
        ),
        (
            "lustre.data_repositories.0.path",
            "/data",
            "'lustre.data_repositories.0.path' is inside a list, which can only be given as a whole: "
            "-c 'lustre.data_repositories=[{path: /data, prefix: data/}]'",
        ),
        ("vpc_cidr.a", "1", "'vpc_cidr.a' is not a key: vpc_cidr is a single value; give it: -c vpc_cidr=…"),
        ("kubernetes_version", "1.30", "'kubernetes_version' is '1.30'; give one of 1.34, 1.35"),
        ("lustre", "{efa: false, efa: false}", "'lustre.efa' is there twice, in line 1; keep one"),
        (
            "node_groups.gpu.max_size",
            "0",
            "'node_groups.gpu.max_size' is 0; give 1 or more",
        ),
        ("node_groups/gpu/max_size", "1", "'node_groups/gpu/max_size' is not a key"),
        ("admin_arns", "[", "'admin_arns' is not YAML, line 1, column 2: while parsing a flow node, "),
        ("luster.capacity_gib", "1", "'luster' is not a key; did you mean lustre?"),
    ],
)
def test_a_mistake_on_the_command_line(key: str, value: str, message: str, config_file: Path) -> None:
    config_file.write_text(MINIMAL + "    min_size: 1\n" if key.endswith("gpu.max_size") else MINIMAL)
    assert message in refusal(config_file, {key: value})


def test_mistakes_of_the_file_and_the_command_line_are_told_together(config_file: Path) -> None:
    config_file.write_text(MINIMAL + "efs: maybe\n")
    assert refusal(config_file, {"luster": "1", "nat": "perhaps"}) == (
        "cluster.yaml with the values of the command line cannot be used:\n"
        "  'luster' is not a key; did you mean lustre?\n"
        "  'efs' is 'maybe'; give true or false\n"
        "  'nat' is 'perhaps'; give true or false"
    )


@pytest.mark.parametrize("typed", ["1.34", '"1.34"', "'1.34'", " 1.34"])
def test_text_of_the_command_line_needs_no_quotes(typed: str, config_file: Path) -> None:
    assert load_config(config_file, {"kubernetes_version": typed}).kubernetes_version == "1.34"


def test_a_new_group_is_given_as_a_whole_before_its_parts(config_file: Path) -> None:
    context = {"node_groups.big.max_size": "4", "node_groups.big": "{instance_type: p4d.24xlarge}"}
    groups = load_config(config_file, context).node_groups
    assert groups["big"] == GpuNodeGroupSpec(instance_type="p4d.24xlarge", max_size=4)


def test_a_value_for_a_group_leaves_its_alias_as_it_is(config_file: Path) -> None:
    config_file.write_text("node_groups: {a: &a {instance_type: p3.2xlarge}, b: *a}\n")
    groups = load_config(config_file, {"node_groups.a.max_size": "4"}).node_groups
    assert (groups["a"].max_size, groups["b"].max_size) == (4, None)


def test_the_path_may_be_text(config_file: Path) -> None:
    assert load_config(str(config_file)) == load_config(config_file)


def test_a_section_that_the_file_leaves_out_can_be_set(config_file: Path) -> None:
    assert load_config(config_file, {"lustre.capacity_gib": "2400"}).lustre.capacity_gib == 2400


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.yaml") == (
        "'config' is 'cluster.yaml', which is not a file; give another with '-c config=<file>'"
    )
