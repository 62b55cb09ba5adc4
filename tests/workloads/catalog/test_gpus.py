import dataclasses
from datetime import date

import pytest

from training_workloads import INSTANCE_TYPES
from training_workloads.catalog import Gpu

GPUS = sorted({one.gpu for one in INSTANCE_TYPES.values() if one.gpu}, key=lambda gpu: (gpu.model, gpu.memory_gib))


def gpu_of(instance_type: str) -> Gpu:
    gpu = INSTANCE_TYPES[instance_type].gpu
    assert gpu
    return gpu


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
