from pathlib import Path
from typing import Any

import pytest

from training_cluster import ClusterConfig, load_config
from training_cluster.config import GpuNodeGroupConfig, LustreConfig
from training_workloads import InputError
from training_workloads.validation import dotted

MINIMAL = "node_groups:\n  gpu:\n    instance_type: p3dn.24xlarge\n"


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("cluster.yaml")
    path.write_text(MINIMAL)
    return path


def problems(path: Path, context: dict[str, Any] | None = None) -> list[str]:
    with pytest.raises(InputError) as error:
        load_config(path, context)
    return str(error.value).splitlines()


def test_a_minimal_file_has_every_default(config_file: Path) -> None:
    assert load_config(config_file) == ClusterConfig(
        node_groups={"gpu": GpuNodeGroupConfig(instance_type="p3dn.24xlarge")},
        lustre=LustreConfig(),
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


def test_the_configuration_of_the_project_is_valid(root: Path) -> None:
    config = load_config(root / "cluster.yaml")
    assert config.node_groups["gpu"] == GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size=2)


def test_options_override_the_file(config_file: Path) -> None:
    context = {
        "node_groups.gpu.instance_type": "p4d.24xlarge",
        "node_groups.gpu.max_size": "4",
        "vpc_cidr": "10.9.0.0/16",
        "efs": "true",
        "admin_arns": "[arn:aws:iam::111122223333:role/Admin]",
        "monthly_budget_usd": 5,
        "alarm_email": "team@example.com",
    }
    config = load_config(config_file, context)
    assert config.node_groups["gpu"] == GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size=4)
    assert (config.vpc_cidr, config.efs) == ("10.9.0.0/16", True)
    assert config.admin_arns == ("arn:aws:iam::111122223333:role/Admin",)
    assert config.monthly_budget_usd == 5


def test_ignores_the_context_of_cdk_itself(config_file: Path) -> None:
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
            "cluster.yaml:5: 'lustre.capcity_gib' is 1200, but there is no such key; did you mean capacity_gib? known: "
            "availability_zone, capacity_gib, data_repositories, deployment_type, efa, further_zones, "
            "throughput_mbps_per_tib",
        ),
        (
            MINIMAL + "vpc_cdir:\n  a: b\n  c: d\n",
            "cluster.yaml:4: 'vpc_cdir' is a mapping, but there is no such key; did you mean vpc_cidr?",
        ),
        ("node_groups: {gpu: {}}", "cluster.yaml:1: 'node_groups.gpu.instance_type' is missing; add it, such as p"),
        (
            "node_groups: {gpu: {instance_type: p4d.24xlarge}}\nlustre: {efa: true}\n",
            "cluster.yaml:2: 'lustre.capacity_gib' is 1200 by default, but with EFA at 125 MB/s per TiB",
        ),
        ("lustre: {}\n", "cluster.yaml: 'node_groups' is missing; add it, such as gpu: {instance_type"),
        (
            "efs: true\n",
            "cluster.yaml: 'node_groups' is missing; add it, such as gpu: {instance_type: …, min_size: 0}",
        ),
        ("- a\n", "cluster.yaml is - a; write 'key: value' lines"),
        ("", "cluster.yaml is empty; write 'key: value' lines"),
        ("12\n", "cluster.yaml is 12; write 'key: value' lines"),
        ("a: b\n---\na: b\n", "cluster.yaml is 2 documents; write 'key: value' lines"),
        ("a: [", "cluster.yaml:1 is 'a: [', but this is not YAML: expected the node content, but found"),
        (
            MINIMAL + "vpc_cidr: 10.0.0.0/16\nvpc_cidr: 10.1.0.0/16\n",
            "cluster.yaml:5: 'vpc_cidr' is 10.1.0.0/16, but line 4 has the same key; keep one of them",
        ),
        (MINIMAL + "vpc_cidr: 2026-01-01\n", "cluster.yaml:4: 'vpc_cidr' is '2026-01-01'"),
        (MINIMAL + "1: 2", "cluster.yaml:4: '1' is 2, but there is no such key; known: addon_versions"),
        (MINIMAL + "~: 2", "cluster.yaml:4: '~' is 2, but there is no such key; known: addon_versions"),
        (MINIMAL + "? [a]\n: b", "cluster.yaml:4 is [a], but it is the key of a value; give a name as the key"),
        (MINIMAL + "lustre: { {a: b}: c}", "cluster.yaml:4: 'lustre' is {a: b}, but it is the key of a value"),
        (
            "node_groups: {1: {instance_type: p4d.24xlarge}}",
            "cluster.yaml:1: 'node_groups.1' is '1', but it is not valid as a name; use letters, digits and '-'",
        ),
        (MINIMAL + "service_accounts: {on: 5}", "cluster.yaml:4: 'service_accounts.on' is 5; give its keys"),
    ],
)
def test_a_mistake_in_the_file_names_its_line(text: str, message: str, config_file: Path) -> None:
    config_file.write_text(text)
    (problem,) = problems(config_file)
    assert problem.startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kubernetes_version: 1.30", "'kubernetes_version' is 1.30; give text in quotes, such as \"1.35\""),
        ("vpc_cidr: 10", "'vpc_cidr' is 10; give text in quotes, such as \"10.0.0.0/16\""),
        (
            "availability_zones: [us-east-1a, 2]",
            "'availability_zones[1]' is 2; give text in quotes, such as \"us-east-1a\"",
        ),
        ("alarm_email: yes", "'alarm_email' is yes; give text in quotes, such as \"team@example.com\""),
        ("vpc_cidr: [a]", "'vpc_cidr' is [a]; give text, such as 10.0.0.0/16"),
        (
            "availability_zones: us-east-1a,us-east-1b",
            "'availability_zones' is 'us-east-1a,us-east-1b'; give a list: ['us-east-1a', 'us-east-1b']",
        ),
        ("availability_zones: {a: b}", "'availability_zones' is {a: b}; give a list, such as [us-east-1a, us-east-1b]"),
        ("availability_zones: [~]", "'availability_zones[0]' is empty; give text, such as us-east-1a"),
        (
            "lustre: {data_repositories: runs}",
            "'lustre.data_repositories' is 'runs'; give a list, such as [{path: /data, prefix: data/}]",
        ),
        (
            "lustre: {data_repositories: [runs]}",
            "'lustre.data_repositories[0]' is 'runs'; give its keys, such as {path: /data, prefix: data/}",
        ),
        ("efs: enabled", "'efs' is 'enabled'; give true or false"),
        ("efs: 'true'", "'efs' is 'true'; give true or false"),
        ("lustre: {capacity_gib: 1200 GiB}", "'lustre.capacity_gib' is '1200 GiB'; give a whole number, 1 or more"),
        ("lustre: {capacity_gib: '1200'}", "'lustre.capacity_gib' is '1200'; give a whole number, 1 or more"),
        ("lustre: {capacity_gib: 1.2}", "'lustre.capacity_gib' is 1.2; give a whole number, 1 or more"),
        ("lustre: false", "'lustre' is false; give its keys, such as capacity_gib: 1200"),
        (
            "service_accounts: [a]",
            "'service_accounts' is [a]; give names with their keys, such as trainer: {prefix: runs}",
        ),
        (
            "service_accounts: {a: {prefix: }}",
            "'service_accounts.a.prefix' is empty; give a folder of the bucket, such as runs/resnet50",
        ),
    ],
)
def test_a_value_of_another_type(text: str, message: str, config_file: Path) -> None:
    config_file.write_text(f"{MINIMAL}{text}\n")
    (problem,) = problems(config_file)
    assert problem.startswith(f"cluster.yaml:4: {message}")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("", "'node_groups' is empty; give names with their keys, such as gpu: {instance_type: …"),
        ("[gpu]", "'node_groups' is [gpu]; give names with their keys, such as gpu: {instance_type: …"),
        ("{gpu: }", "'node_groups.gpu' is empty; give its keys, such as gpu: {instance_type: …"),
        ("{gpu: {instance_type: }}", "'node_groups.gpu.instance_type' is empty; give EC2's name of a type, such as p"),
        (
            "{gpu: {instance_type: g5.xlarge, max_size: two}}",
            "'node_groups.gpu.max_size' is 'two'; give a whole number",
        ),
        ("{gpu: {instance_type: 4}}", "'node_groups.gpu.instance_type' is 4; give EC2's name of a type, such as p"),
    ],
)
def test_a_node_group_of_another_type(groups: str, message: str, config_file: Path) -> None:
    config_file.write_text(f"node_groups: {groups}\nvpc_cidr: 10.0.0.0/28\n")
    first, second = problems(config_file)
    assert first.startswith(f"cluster.yaml:1: {message}")
    assert second.startswith("cluster.yaml:2: 'vpc_cidr' is '10.0.0.0/28'")


def test_an_empty_key_has_its_default(config_file: Path) -> None:
    config = load_config(config_file)
    config_file.write_text(
        MINIMAL + "    max_size:\n    efa:\nservice_accounts:\npublic_access_cidrs:\nlustre:\nalarm_email:\nefs:\n"
    )
    assert load_config(config_file) == config


def test_a_key_is_the_text_that_was_typed(config_file: Path) -> None:
    config_file.write_text("node_groups: {yes: {instance_type: g5.xlarge}}\nservice_accounts: {1: {prefix: runs}}\n")
    config = load_config(config_file)
    assert (list(config.node_groups), list(config.service_accounts)) == (["yes"], ["1"])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("availability_zones: [us-east-1a, 5]\nlustre: {availability_zone: us-east-1a}", "availability_zones[1]"),
        ("    ami_release: 1.34.0-20260917\nkubernetes_version: 1.34", "kubernetes_version"),
        ("    min_size: 0\n    desired_size: 3\n    max_size: two", "node_groups.gpu.max_size"),
        ("alarm_email: 5\nmonthly_budget_usd: 3", "alarm_email"),
    ],
)
def test_a_rule_waits_for_the_value_that_it_compares_with(text: str, key: str, config_file: Path) -> None:
    config_file.write_text(f"{MINIMAL}{text}\n")
    (problem,) = problems(config_file)
    assert f": '{key}' is " in problem


def test_reports_every_mistake_once_in_the_order_of_the_file(config_file: Path) -> None:
    config_file.write_text(
        """
node_groups:
  gpu: {instance_type: p4d.24xlrge, min_size: many, capacity_type: BLOCK}
  "8 c": {instance_type: g5.xlarge, efa: true}
  d: 5
lustre: {capacity_gib: 1000, data_repositories: [{path: data}, {prefix: 5}]}
availability_zones: [us-east-1a]
vpc_cidr: 10.0.0.0/28
monthly_budget_usd: 0
foo: 1
"""
    )
    with pytest.raises(InputError) as error:
        load_config(config_file)
    assert [(problem.source, dotted(problem.path)) for problem in error.value.problems] == [
        ("cluster.yaml:3", "node_groups.gpu.instance_type"),
        ("cluster.yaml:3", "node_groups.gpu.min_size"),
        ("cluster.yaml:3", "node_groups.gpu.capacity_type"),
        ("cluster.yaml:4", "node_groups.8 c"),
        ("cluster.yaml:4", "node_groups.8 c.efa"),
        ("cluster.yaml:5", "node_groups.d"),
        ("cluster.yaml:6", "lustre.data_repositories[0].path"),
        ("cluster.yaml:6", "lustre.data_repositories[1].prefix"),
        ("cluster.yaml:7", "availability_zones"),
        ("cluster.yaml:8", "vpc_cidr"),
        ("cluster.yaml:9", "monthly_budget_usd"),
        ("cluster.yaml:10", "foo"),
    ]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "instance_type",
            "p4d.24xlarge",
            "'instance_type' is 'p4d.24xlarge', but there is no such key; known: addon_versions",
        ),
        ("lustre.capacity", "1", "'lustre.capacity' is 1, but there is no such key; did you mean capacity_gib?"),
        (
            "node_groups.gpus.max_size",
            "1",
            "'node_groups.gpus' is missing, but an option sets a part of it; did you mean gpu? known: gpu; "
            "give a new one as a whole: -c 'node_groups.gpus={instance_type: …}'",
        ),
        (
            "service_accounts.a.prefix",
            "runs",
            "'service_accounts.a' is missing, but an option sets a part of it; give a new one as a whole: "
            "-c 'service_accounts.a={prefix: …}'",
        ),
        (
            "lustre.data_repositories.0.path",
            "/data",
            '\'lustre.data_repositories\' is {"0": {"path": "/data"}}; give a list, such as [{path: /data, prefix:',
        ),
        ("vpc_cidr.a", "1", "'vpc_cidr.a' is '1', but vpc_cidr has no keys; give it as a whole: -c 'vpc_cidr=…'"),
        ("kubernetes_version", "1.30", "'kubernetes_version' is '1.30'; give one of 1.34, 1.35, 1.36, 1.37"),
        ("lustre", "{efa: false, efa: false}", "'lustre.efa' is false, but the same line has the same key; keep one"),
        ("node_groups.gpu.max_size", "0", "'node_groups.gpu.max_size' is 0; give 1 or more"),
        ("node_groups.gpu.max_size", "*a", "'node_groups.gpu.max_size' is '*a'; give a whole number, 1 or more"),
        ("vpc_cidr", "{{ .Values.cidr }}", "'vpc_cidr' is '{{ .Values.cidr }}', but it is a template; give the value"),
        ("node_groups.gpu.efa", "on fire", "'node_groups.gpu.efa' is 'on fire'; give true or false"),
        ("node_groups/gpu/max_size", "1", "'node_groups/gpu/max_size' is 1, but there is no such key"),
        ("admin_arns", "[", "'admin_arns' is '[', but this is not YAML: expected the node content, but found"),
        ("luster.capacity_gib", "1", '\'luster\' is {"capacity_gib": "1"}, but there is no such key; did you mean lus'),
        ("node_groups.big", "{instance_type: p5}", "'node_groups.big.instance_type' is 'p5'"),
        ("node_groups.big", "5", "'node_groups.big' is 5; give its keys"),
    ],
)
def test_a_mistake_in_an_option_names_the_option(key: str, value: str, message: str, config_file: Path) -> None:
    config_file.write_text(MINIMAL + "vpc_cidr: 10.0.0.0/16\n")
    (problem,) = problems(config_file, {key: value})
    assert problem.startswith(f"-c {key}: {message}")


def test_reports_mistakes_of_the_file_and_of_options_together(config_file: Path) -> None:
    config_file.write_text(MINIMAL + "efs: maybe\n")
    efs, nat, luster = problems(config_file, {"luster": "1", "nat": "perhaps"})
    assert efs == "cluster.yaml:4: 'efs' is 'maybe'; give true or false"
    assert luster.startswith("-c luster: 'luster' is 1, but there is no such key; did you mean lustre or cluster_role?")
    assert nat == "-c nat: 'nat' is 'perhaps'; give true or false"


@pytest.mark.parametrize("typed", ["1.34", '"1.34"', "'1.34'", " 1.34"])
def test_text_of_an_option_needs_no_quotes(typed: str, config_file: Path) -> None:
    assert load_config(config_file, {"kubernetes_version": typed}).kubernetes_version == "1.34"


def test_an_empty_option_gives_the_default(config_file: Path) -> None:
    config_file.write_text(MINIMAL + "vpc_cidr: 10.9.0.0/16\nnat: true\n")
    config = load_config(config_file, {"vpc_cidr": "", "nat": "", "lustre": ""})
    assert config == load_config(config_file, {"vpc_cidr": "10.0.0.0/16"})


def test_a_new_group_is_set_as_a_whole_before_its_parts(config_file: Path) -> None:
    context = {"node_groups.big.max_size": "4", "node_groups.big": "{instance_type: p4d.24xlarge}"}
    groups = load_config(config_file, context).node_groups
    assert groups["big"] == GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size=4)


def test_an_option_for_a_group_does_not_change_its_alias(config_file: Path) -> None:
    config_file.write_text("node_groups: {a: &a {instance_type: g5.xlarge}, b: *a}\n")
    groups = load_config(config_file, {"node_groups.a.max_size": "4"}).node_groups
    assert (groups["a"].max_size, groups["b"].max_size) == (4, None)


def test_the_path_may_be_text(config_file: Path) -> None:
    assert load_config(str(config_file)) == load_config(config_file)


def test_an_option_can_set_a_section_that_the_file_omits(config_file: Path) -> None:
    assert load_config(config_file, {"lustre.capacity_gib": "2400"}).lustre.capacity_gib == 2400


def test_rejects_a_file_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "no.yaml"
    assert problems(path) == [
        f"'config' is '{path}', but it cannot be read (No such file or directory); "
        "create it, start the app in its folder, or give another file with '-c config=<file>'"
    ]
