from training.staging.s3_source import Item
from training.staging.staging_progress import SIZE_ONLY, Progress

ITEMS = [Item(str(number), str(number), 50_000_000_000, "") for number in range(3)]


def test_the_line_has_files_bytes_speed_and_remaining_time() -> None:
    now = [100.0]
    progress = Progress(ITEMS, clock=lambda: now[0])
    assert progress.line() == "0/3 files, 0.0/150.0 GB, 0 MB/s, no data yet"
    now[0] = 140.0
    progress.found(ITEMS[0])
    progress.finished("MD5")
    progress.moved(40_000_000_000)
    assert progress.line() == "1/3 files, 90.0/150.0 GB, 1,000 MB/s, 1.0 minutes left"


def test_does_not_count_a_failed_download() -> None:
    progress = Progress(ITEMS, clock=lambda: 0.0)
    progress.moved(10_000_000_000)
    progress.moved(-10_000_000_000)
    assert progress.line() == "0/3 files, 0.0/150.0 GB, 0 MB/s, no data yet"


def test_the_summary_ends_with_the_files_verified_by_size() -> None:
    progress = Progress(ITEMS)
    for name in (SIZE_ONLY, SIZE_ONLY, "CRC64NVME", "MD5", "MD5"):
        progress.finished(name)
    assert progress.summary() == "3 files, 150.0 GB: 2 by MD5, 1 by CRC64NVME, 2 by size only"
