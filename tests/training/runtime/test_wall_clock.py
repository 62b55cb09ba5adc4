import time

import pytest

from training.runtime import wall_clock
from training.runtime.wall_clock import WallClock


def test_counts_the_starts_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = WallClock(now - 20, {})
    now += 20
    first.add(400.0)
    written = first.figures()
    assert written == {"wall_seconds": 40.0, "wall_images_per_second": 10.0, "trained_images": 400}
    # Another start, a day later: the time between them counts in neither.
    now += 86_400
    second = WallClock(now, written)
    now += 10
    second.add(600.0)
    assert second.figures() == {"wall_seconds": 50.0, "wall_images_per_second": 20.0, "trained_images": 1000}


def test_a_process_began_before_its_first_line() -> None:
    import psutil

    age = time.monotonic() - wall_clock.process_start()
    assert age == pytest.approx(time.time() - psutil.Process().create_time(), abs=2)
