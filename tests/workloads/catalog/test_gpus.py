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


@pytest.mark.parametrize(
    ("instance_type", "model", "memory_gib", "memory_mhz", "graphics_mhz"),
    [
        ("p3.16xlarge", "V100", 16, 877, 1530),
        ("p3dn.24xlarge", "V100", 32, 877, 1530),
        ("p4d.24xlarge", "A100", 40, 1215, 1410),
        ("p4de.24xlarge", "A100", 80, 1593, 1410),
        ("p5.48xlarge", "H100", 80, 2619, 1980),
        ("p5e.48xlarge", "H200", 141, 3201, 1980),
        ("p5en.48xlarge", "H200", 141, 3201, 1980),
        ("p6-b200.48xlarge", "B200", 179, 3996, 1965),
        ("p6-b300.48xlarge", "B300", 268, 3996, 2032),
        ("g4dn.metal", "T4", 16, 5001, 1590),
        ("g5.48xlarge", "A10G", 22, 6251, 1695),
        ("g6.48xlarge", "L4", 22, 6251, 2040),
        ("g6e.48xlarge", "L40S", 44, 9001, 2520),
    ],
)
def test_memory_and_clocks(instance_type: str, model: str, memory_gib: int, memory_mhz: int, graphics_mhz: int) -> None:
    gpu = gpu_of(instance_type)
    assert (gpu.model, gpu.memory_gib) == (model, memory_gib)
    assert gpu.application_clocks == Clocks(memory_mhz=memory_mhz, graphics_mhz=graphics_mhz)


def test_drivers_after_580_do_not_run_volta() -> None:
    assert {gpu.newest_driver_branch for gpu in GPUS if gpu.model == "V100"} == {580}
    assert {gpu.newest_driver_branch for gpu in GPUS if gpu.model != "V100"} == {None}


def test_blackwell_needs_a_new_driver() -> None:
    assert gpu_of("p6-b200.48xlarge").oldest_driver_branch == 570
    assert gpu_of("p6-b300.48xlarge").oldest_driver_branch == 580


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: f"{gpu.model}-{gpu.memory_gib}")
def test_every_model_has_sources_and_reasons(gpu: Gpu) -> None:
    assert all(source.startswith("https://") for source in gpu.sources)
    assert len(gpu.sources) == 2
    assert gpu.checked == date(2026, 11, 21)
    # None for the newest branch is an answer: no end is announced.
    missing = {name for name in ("application_clocks", "oldest_driver_branch") if getattr(gpu, name) is None}
    assert set(gpu.unknown) == missing
    assert all(gpu.unknown.values())


def test_models_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu_of("p3.16xlarge").memory_gib = 32  # type: ignore[misc]
