"""The page on the configuration names every key, and no other."""

import re
from pathlib import Path

import pytest

from training_cluster import ClusterConfig
from training_cluster.config import (
    DataRepositoryConfig,
    ExistingEfsConfig,
    ExistingLustreConfig,
    ExistingVpcConfig,
    GpuNodeGroupConfig,
    JobQueueConfig,
    LustreConfig,
    NodeRepairConfig,
    NodeRepairOverrideConfig,
    ServiceAccountConfig,
)
from training_workloads.spec import Spec

SECTIONS: dict[str, type[Spec]] = {
    "The cluster": ClusterConfig,
    "`node_groups.<name>`": GpuNodeGroupConfig,
    "`node_groups.<name>.node_repair`": NodeRepairConfig,
    "`node_groups.<name>.node_repair.overrides[]`": NodeRepairOverrideConfig,
    "`job_queue`": JobQueueConfig,
    "`lustre`": LustreConfig,
    "`lustre.data_repositories[]`": DataRepositoryConfig,
    "`existing_vpc`": ExistingVpcConfig,
    "`existing_lustre`": ExistingLustreConfig,
    "`existing_efs`": ExistingEfsConfig,
    "`service_accounts.<name>`": ServiceAccountConfig,
}


def sections(page: Path) -> dict[str, str]:
    parts = re.split(r"^#{2,3} (.+)$", page.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("title", SECTIONS)
def test_the_table_of_a_section_has_exactly_its_keys(title: str, root: Path) -> None:
    rows = re.findall(r"^\| (`.+?) \|", sections(root / "docs/configuration.md")[title], flags=re.M)
    keys = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert keys == set(SECTIONS[title].model_fields)
