import pytest

from training.runtime.throughput import Throughput, rate


def test_first_steps_count_in_the_seconds_but_not_in_the_speed() -> None:
    throughput = Throughput(skip=1)
    for images, seconds in [(16, 8.0), (16, 0.5), (8, 0.5)]:
        throughput.step(images, seconds)
    assert throughput.images_per_second == pytest.approx(24.0)
    assert throughput.seconds == pytest.approx(9.0)


def test_a_run_of_a_few_steps_has_a_speed_too() -> None:
    throughput = Throughput(skip=5)
    throughput.step(16, 2.0)
    assert throughput.images_per_second == pytest.approx(8.0)


def test_figures_of_the_steps_that_count() -> None:
    throughput = Throughput(skip=1)
    for milliseconds in (9000, 100, 200, 300):
        throughput.step(8, milliseconds / 1000, waited=milliseconds / 4000)
    assert throughput.figures() == {
        "warm_up_steps": 1,
        "steps_measured": 3,
        "step_milliseconds": {"p50": 200.0, "p90": 280.0, "p99": 298.0},
        "data_wait_share": 0.25,
    }
    assert throughput.recent(2) == pytest.approx((32.0, 0.25))


def test_a_start_without_steps_has_figures_too() -> None:
    throughput = Throughput()
    assert throughput.figures() == {
        "warm_up_steps": 0,
        "steps_measured": 0,
        "step_milliseconds": {"p50": 0, "p90": 0, "p99": 0},
        "data_wait_share": 0.0,
    }
    assert (throughput.images_per_second, throughput.recent(5)) == (0.0, (0.0, 0.0))


def test_first_steps_have_a_recent_speed_that_is_not_that_of_the_run() -> None:
    throughput = Throughput(skip=1)
    throughput.step(16, 2.0)
    assert throughput.recent(10) == (8.0, 0.0)
    assert throughput.warming_up
    throughput.step(16, 1.0)
    assert throughput.recent(1) == (16.0, 0.0)
    assert throughput.recent(0) == (0.0, 0.0)
    assert not throughput.warming_up


@pytest.mark.parametrize(("speed", "text"), [(17_400.4, "17400"), (42.4, "42"), (9.96, "10"), (0.126, "0.13")])
def test_no_speed_is_printed_as_0_or_with_commas(speed: float, text: str) -> None:
    assert rate(speed) == text
