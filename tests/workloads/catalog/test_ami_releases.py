"""The faults of the AMI: ranges over the recorded packages, with sources, and in the documents."""

import re
from pathlib import Path
from typing import get_args

import pytest

from training_workloads.catalog.ami_releases import (
    AMI_FAULTS,
    Ami,
    AmiFault,
    PackageRange,
    ami_packages,
    known_faults,
)

UPGRADE = (Path(__file__).parents[3] / "docs/upgrade.md").read_text(encoding="utf-8")


def faults(day: int, ami: Ami = "nvidia", version: str = "1.35", instance_type: str = "p5.48xlarge") -> list[str]:
    """Return the issues of the faults of a release."""
    found = known_faults(day, ami, kubernetes_version=version, instance_type=instance_type)
    return [number for fault in found for number in re.findall(r"amazon-eks-ami#(\d+)", fault.reason)]


@pytest.mark.parametrize("fault", AMI_FAULTS, ids=lambda fault: fault.reason[:30])
def test_every_fault_is_in_the_upgrade_page(fault: AmiFault) -> None:
    (issue,) = re.findall(r"amazon-eks-ami#(\d+)", fault.reason)
    assert f"[#{issue}](https://github.com/awslabs/amazon-eks-ami/issues/{issue})" in UPGRADE
    assert fault.sources
    assert all(source.startswith("https://") for source in fault.sources)


@pytest.mark.parametrize("fault", AMI_FAULTS, ids=lambda fault: fault.reason[:30])
def test_the_fix_of_a_fault_is_a_release_without_it(fault: AmiFault) -> None:
    for day in map(int, re.findall(r"\b20\d{6}\b", fault.fix)):
        for ami in fault.amis:
            assert not fault.where.contains(day, ami, "1.35")


def test_a_release_that_the_table_lacks_has_the_packages_of_the_one_before() -> None:
    toolkit = PackageRange(package="toolkit", at_least="1.20", below="1.21")
    assert not toolkit.contains(20260817, "nvidia", "1.35")
    assert toolkit.contains(20260818, "nvidia", "1.35")
    assert toolkit.contains(20991231, "nvidia", "1.35")


def test_what_is_older_than_the_table_is_in_a_range_without_a_beginning_only() -> None:
    assert PackageRange(package="toolkit", below="1.18").contains(20240101, "nvidia", "1.31")
    assert not PackageRange(package="toolkit", at_least="1.17", below="1.18").contains(20240101, "nvidia", "1.31")


def test_a_fault_of_the_kernel_is_one_of_both_amis_and_of_some_kubernetes_releases() -> None:
    assert faults(20261003) == faults(20261003, "standard", instance_type="m5.xlarge") == ["2845"]
    assert faults(20261003, version="1.36") == []
    assert faults(20260929) == faults(20261012) == []


def test_a_fault_of_gpus_is_none_of_system_nodes() -> None:
    assert faults(20260423) == ["2706"]
    assert faults(20260423, "standard", instance_type="m5.xlarge") == []


def test_a_fault_of_a_family_is_none_of_another() -> None:
    assert faults(20251108, instance_type="p5en.48xlarge") == ["2554"]
    assert faults(20251108) == []


def test_each_row_of_the_packages_has_its_source_and_known_names() -> None:
    for row in ami_packages():
        assert row.source.startswith("https://github.com/")
        assert set(row.packages) <= {"driver", "efa", "ena", "kernel", "toolkit"}
        assert set(row.amis) <= set(get_args(Ami))
        assert 20240000 < row.release < 20991231
        # Only the kernel differs between releases of Kubernetes.
        assert row.kubernetes_versions or "kernel" not in row.packages
