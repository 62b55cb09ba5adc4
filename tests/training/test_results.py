import pytest

from training import results


def test_the_first_steps_are_left_out_of_the_speed_but_not_of_the_seconds() -> None:
    throughput = results.Throughput(skip=1)
    for images, seconds in [(16, 8.0), (16, 0.5), (8, 0.5)]:
        throughput.step(images, seconds)
    assert throughput.images_per_second == pytest.approx(24.0)
    assert throughput.seconds == pytest.approx(9.0)


def test_a_run_of_a_few_steps_has_a_speed_too() -> None:
    throughput = results.Throughput(skip=5)
    throughput.step(16, 2.0)
    assert throughput.images_per_second == pytest.approx(8.0)
