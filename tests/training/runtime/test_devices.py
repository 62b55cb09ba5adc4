import os

import pytest
import tensorflow as tf

from training.runtime import cores, devices


def have_cores(monkeypatch: pytest.MonkeyPatch, usable: int, present: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(usable)))
    monkeypatch.setattr(os, "cpu_count", lambda: present)


@pytest.mark.parametrize(
    ("usable", "present", "local_size", "share"),
    [(2, 2, 1, 2), (2, 2, 2, 1), (2, 2, 4, 1), (96, 96, 8, 12), (12, 96, 8, 12)],
)
def test_cores_are_shared_unless_mpirun_bound_the_ranks(
    monkeypatch: pytest.MonkeyPatch, usable: int, present: int, local_size: int, share: int
) -> None:
    have_cores(monkeypatch, usable, present)
    assert cores.share_of_cores(local_size) == share


def test_ranks_of_torchrun_share_the_cores_of_their_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    for usable, share in ((96, 12), (24, 3), (2, 1)):
        have_cores(monkeypatch, usable, 96)
        assert cores.share_of_cores(8) == share


@pytest.mark.parametrize(("visible", "local_rank", "chosen"), [(8, 0, 0), (8, 5, 5), (1, 5, 0)])
def test_each_rank_gets_one_gpu(monkeypatch: pytest.MonkeyPatch, visible: int, local_rank: int, chosen: int) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: list(range(visible)))
    monkeypatch.setattr(tf.config, "set_visible_devices", lambda gpu, kind: calls.append((gpu, kind)))
    experimental = tf.config.experimental
    monkeypatch.setattr(experimental, "set_memory_growth", lambda gpu, enable: calls.append((gpu, enable)))
    monkeypatch.setattr(experimental, "get_device_details", lambda gpu: {"device_name": "NVIDIA A100"})
    assert devices.pin(local_rank, local_size=8) == "NVIDIA A100"
    assert calls == [(chosen, "GPU"), (chosen, True)]
