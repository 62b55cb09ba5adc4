import math
from typing import Any

import pytest

from training_workloads import InputError
from training_workloads.catalog.lustre import lustre_capacity_gib, lustre_throughput_mbps
from training_workloads.planning.storage_sizing import size_lustre


@pytest.mark.parametrize(
    ("demand", "capacity", "throughput"),
    [
        # 110 MB/s: the smallest file system sustains 146.
        ({"images_per_second": 1000, "bytes_per_image": 110_000}, 1200, 125),
        # 275 MB/s: 1.17 TiB at 250 MB/s sustain 293.
        ({"images_per_second": 2500, "bytes_per_image": 110_000}, 1200, 250),
        ({"images_per_second": 20_000, "bytes_per_image": 110_000}, 2400, 1000),
        # The data need this capacity anyway, so a lower class is enough.
        ({"images_per_second": 20_000, "bytes_per_image": 110_000, "dataset_gib": 5000}, 7200, 500),
        ({"images_per_second": 1, "bytes_per_image": 1, "dataset_gib": 1200.5}, 2400, 125),
        ({"images_per_second": 1, "bytes_per_image": 1, "efa": True}, 4800, 1000),
        ({"images_per_second": 1, "bytes_per_image": 1, "dataset_gib": 19_000, "efa": True}, 19_200, 250),
    ],
)
def test_the_smallest_that_suffices(demand: dict[str, Any], capacity: int, throughput: int) -> None:
    sizing = size_lustre(**demand)
    assert (sizing.capacity_gib, sizing.throughput_mbps_per_tib) == (capacity, throughput)


def test_the_text_shows_the_arithmetic() -> None:
    assert str(size_lustre(images_per_second=20_000, bytes_per_image=110_000)) == (
        "Lustre: 20,000 images/s x 110 kB = 2,200 MB/s: 2400 GiB at 1000 MB/s per TiB, which sustains 2,344 MB/s"
    )
    assert str(size_lustre(images_per_second=2500.4, bytes_per_image=114_700, dataset_gib=138)) == (
        "Lustre: 2,500 images/s x 114.7 kB = 287 MB/s and 138 GiB of data: "
        "1200 GiB at 250 MB/s per TiB, which sustains 293 MB/s"
    )


@pytest.mark.parametrize("images_per_second", [0, -1, math.inf, math.nan, "2500", True])
def test_rejects_an_invalid_rate_of_images(images_per_second: Any) -> None:
    with pytest.raises(InputError) as caught:
        size_lustre(images_per_second=images_per_second, bytes_per_image=1)
    assert str(caught.value) == f"'images_per_second' is {images_per_second!r}; give a number above 0, such as 2500"


def test_reports_all_problems_at_once() -> None:
    with pytest.raises(InputError) as caught:
        size_lustre(images_per_second=0, bytes_per_image=0, dataset_gib=-1)
    assert [str(problem) for problem in caught.value.problems] == [
        "'images_per_second' is 0; give a number above 0, such as 2500",
        "'bytes_per_image' is 0; give 1 or more",
        "'dataset_gib' is -1; give the dataset's size in GiB, 0 or more",
    ]


@pytest.mark.parametrize(
    ("at_least", "efa_throughput", "capacity"),
    [
        (0, None, 1200),
        (1200, None, 1200),
        (1201, None, 2400),
        (2400, None, 2400),
        (2401, None, 4800),
        (0, 1000, 4800),
        (4801, 1000, 9600),
        (1, 125, 38_400),
    ],
)
def test_the_next_size_that_fsx_offers(at_least: float, efa_throughput: int | None, capacity: int) -> None:
    assert lustre_capacity_gib(at_least, efa_throughput=efa_throughput) == capacity


def test_a_tib_has_1024_gib() -> None:
    assert lustre_throughput_mbps(2048, 125) == 250
