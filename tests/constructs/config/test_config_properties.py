"""Any file and any option: a configuration or its problems, never another error; no wrong value hides a second one."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from training_cluster import ClusterConfig, load_config
from training_cluster.config import GpuNodeGroupConfig, LustreConfig
from training_workloads import InputError
from training_workloads.validation import dotted

GROUP = {"instance_type": "p4d.24xlarge"}

KEYS = (
    *ClusterConfig.model_fields,
    *(f"node_groups.gpu.{key}" for key in GpuNodeGroupConfig.model_fields),
    *(f"lustre.{key}" for key in LustreConfig.model_fields),
    "lustre.data_repositories",
    "service_accounts.trainer.prefix",
    "nothing",
)
NUMBERS = (
    "node_groups.gpu.min_size",
    "node_groups.gpu.max_size",
    "lustre.capacity_gib",
    "monthly_budget_usd",
)

#: What YAML and its readers are known to trip over.
SCALARS = (
    *("", "~", "true", "no", "010", "2:30", "0x10", "1_000", "+5", ".inf", ".nan", "1e3", "-0", "9" * 5000),
    *("!!bool x", "!!int x", "!!float x", "!!binary x", "!!set [1]", "!!omap 3", "!foo x", "!!python/object x", "="),
    *("[", "{", "{}", "[]", "[[]]", "{a: b}", "[{}]", "{<<: 3}", "&a [*a]", "*a", "2026-01-01", "? a", "a: b: c", "%"),
    *("'", '"', "|", "- a", "<<", "{{ .Values.x }}", "\x00", "\ud7ff", "us-east-1a", "10.0.0.0/16", "0", "1", "-1"),
)
texts = st.one_of(st.sampled_from(SCALARS), st.text(max_size=12), st.integers().map(str))


def nested(key: str, text: str) -> str:
    """Return the lines of a file in which a key has a text, below the least that a file needs."""
    *above, last = key.split(".")
    lines = ["node_groups:", "  gpu:", "    instance_type: p4d.24xlarge"]
    if above != ["node_groups", "gpu"]:
        lines += [f"{'  ' * depth}{name}:" for depth, name in enumerate(above)]
    return "\n".join([*lines, f"{'  ' * len(above)}{last}: {text}", ""])


def outcome(path: Path, options: dict[str, Any] | None = None) -> ClusterConfig | list[str]:
    try:
        return load_config(path, options)
    except InputError as error:
        return [str(problem) for problem in error.problems]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "cluster.yaml"


@settings(max_examples=150, deadline=None)
@given(key=st.sampled_from(KEYS), text=texts)
def test_any_value_of_any_key_is_accepted_or_explained(path: Path, key: str, text: str) -> None:
    path.write_bytes(nested(key, text).encode(errors="replace"))
    found = outcome(path)
    assert isinstance(found, ClusterConfig) or (found and all("; " in problem for problem in found))


@settings(max_examples=100, deadline=None)
@given(key=st.sampled_from(KEYS), text=texts)
def test_any_option_is_accepted_or_explained(path: Path, key: str, text: str) -> None:
    path.write_text(yaml.safe_dump({"node_groups": {"gpu": GROUP}}))
    found = outcome(path, {key: text})
    assert isinstance(found, ClusterConfig) or (found and all("; " in problem for problem in found))


@settings(max_examples=60, deadline=None)
@given(
    key=st.sampled_from(NUMBERS),
    text=st.from_regex(r"[-+]?[0-9][0-9_:.xb]{0,6}", fullmatch=True),
    as_option=st.booleans(),
)
def test_a_number_is_what_its_digits_say(path: Path, key: str, text: str, as_option: bool) -> None:
    path.write_text(nested(key, "" if as_option else text) + "alarm_email: team@example.com\n")
    found: Any = outcome(path, {key: text} if as_option else None)
    if isinstance(found, ClusterConfig):
        value: Any = found.model_dump()
        for part in key.split("."):
            value = value[part]
        assert text == str(value)


#: Mistakes: a value, and the key that is reported.
MISTAKES: tuple[tuple[str, Any, str], ...] = (
    ("node_groups.gpu.instance_type", "p4d.24xlrge", "node_groups.gpu.instance_type"),
    ("node_groups.gpu.min_size", -1, "node_groups.gpu.min_size"),
    ("node_groups.gpu.max_size", "two", "node_groups.gpu.max_size"),
    ("node_groups.gpu.capacity_type", "BLOCK", "node_groups.gpu.capacity_type"),
    ("node_groups.gpu.placement_group", "yes", "node_groups.gpu.placement_group"),
    ("node_groups.gpu.ami_release", "newest", "node_groups.gpu.ami_release"),
    ("node_groups.gpu.nothing", 1, "node_groups.gpu.nothing"),
    ("node_groups.gpu.availability_zone", "us-east-1d", "node_groups.gpu.availability_zone"),
    ("node_groups.other", {"min_size": 0}, "node_groups.other.instance_type"),
    ("node_groups.other.desired_size", "many", "node_groups.other.desired_size"),
    ("lustre.efa", True, "lustre.capacity_gib"),
    ("lustre.nothing", 1, "lustre.nothing"),
    ("lustre.deployment_type", "SCRATCH_1", "lustre.deployment_type"),
    ("lustre.availability_zone", "us-east-1c", "lustre.availability_zone"),
    ("service_accounts.trainer.allow_delete", 1, "service_accounts.trainer.allow_delete"),
    ("service_accounts.trainer.namespace", "My_Space", "service_accounts.trainer.namespace"),
    ("vpc_cidr", "10.0.0.0/28", "vpc_cidr"),
    ("monthly_budget_usd", 0, "monthly_budget_usd"),
    ("efs", "perhaps", "efs"),
)
#: Mistakes in two values, of a section or of several: they are reported when each value of these sections is valid.
COMPARED = {"node_groups.gpu.availability_zone", "lustre.availability_zone", "lustre.efa"}


def put(mapping: dict[str, Any], key: str, value: Any) -> None:
    *above, last = key.split(".")
    for name in above:
        mapping = mapping.setdefault(name, {})
    mapping[last] = {**mapping.get(last, {}), **value} if isinstance(value, dict) else value


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_no_wrong_value_hides_another(number: int, path: Path) -> None:
    for pair in combinations(MISTAKES, 2):
        if pair[0] != MISTAKES[number] or COMPARED & {key for key, _, _ in pair}:
            continue
        content: dict[str, Any] = {
            "availability_zones": ["us-east-1a", "us-east-1b"],
            "node_groups": {"gpu": dict(GROUP)},
            "service_accounts": {"trainer": {"prefix": "runs"}},
            "alarm_email": "team@example.com",
        }
        for key, value, _ in pair:
            put(content, key, value)
        path.write_text(yaml.safe_dump(content))
        with pytest.raises(InputError) as caught:
            load_config(path)
        told = {dotted(problem.path) for problem in caught.value.problems}
        assert {reported for _, _, reported in pair} <= told, pair


def test_a_mistake_in_an_item_of_a_list_does_not_hide_the_next(path: Path) -> None:
    repositories = [{"path": "data", "prefix": 5}, {"path": "/runs", "prefix": "/runs"}]
    path.write_text(yaml.safe_dump({"node_groups": {"gpu": GROUP}, "lustre": {"data_repositories": repositories}}))
    with pytest.raises(InputError) as caught:
        load_config(path)
    assert {dotted(problem.path) for problem in caught.value.problems} == {
        "lustre.data_repositories[0].path",
        "lustre.data_repositories[0].prefix",
        "lustre.data_repositories[1].prefix",
    }
