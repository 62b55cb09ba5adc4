import dataclasses
from datetime import date

import pytest

from training_workloads import INSTANCE_TYPES
from training_workloads.catalog import Clocks, Gpu

GPUS = sorted({one.gpu for one in INSTANCE_TYPES.values() if one.gpu}, key=lambda gpu: (gpu.model, gpu.memory_gib))


def gpu_of(instance_type: str) -> Gpu:
    gpu = INSTANCE_TYPES[instance_type].gpu
    assert gpu
    return gpu


# AWS publishes the clocks on a page, not by an API: there is no recording of them. Model and memory are recorded
# (test_recorded_types.py).
@pytest.mark.parametrize(
    ("instance_type", "memory_mhz", "graphics_mhz"),
    [
        ("p3.16xlarge", 877, 1530),
        ("p3dn.24xlarge", 877, 1530),
        ("p4d.24xlarge", 1215, 1410),
        ("p4de.24xlarge", 1593, 1410),
        ("p5.48xlarge", 2619, 1980),
        ("p5e.48xlarge", 3201, 1980),
        ("p5en.48xlarge", 3201, 1980),
        ("p6-b200.48xlarge", 3996, 1965),
        ("p6-b300.48xlarge", 3996, 2032),
        ("g4dn.metal", 5001, 1590),
        ("g5.48xlarge", 6251, 1695),
        ("g6.48xlarge", 6251, 2040),
        ("g6e.48xlarge", 9001, 2520),
    ],
)
def test_application_clocks(instance_type: str, memory_mhz: int, graphics_mhz: int) -> None:
    assert gpu_of(instance_type).application_clocks == Clocks(memory_mhz=memory_mhz, graphics_mhz=graphics_mhz)


def test_580_is_the_last_driver_branch_for_volta() -> None:
    assert {gpu.newest_driver_branch for gpu in GPUS if gpu.model == "V100"} == {580}
    assert {gpu.newest_driver_branch for gpu in GPUS if gpu.model != "V100"} == {None}


def test_blackwell_needs_a_recent_driver_branch() -> None:
    assert gpu_of("p6-b200.48xlarge").oldest_driver_branch == 570
    assert gpu_of("p6-b300.48xlarge").oldest_driver_branch == 580
    assert gpu_of("g7.12xlarge").oldest_driver_branch == 595


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: f"{gpu.model}-{gpu.memory_gib}")
def test_every_model_has_sources_and_reasons(gpu: Gpu) -> None:
    assert all(source.startswith("https://") for source in gpu.sources)
    assert len(gpu.sources) == 3
    assert gpu.checked == date(2026, 11, 21)
    # None for the newest branch is the answer: NVIDIA has announced no end.
    missing = {name for name in ("application_clocks", "oldest_driver_branch") if getattr(gpu, name) is None}
    assert set(gpu.unknown) == missing
    assert all(gpu.unknown.values())


def test_models_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu_of("p3dn.24xlarge").memory_gib = 16  # type: ignore[misc]
