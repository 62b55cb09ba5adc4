import resource

import numpy as np

from training.records.memory import keep_freed_memory


def page_faults() -> int:
    """Takes 64 MiB, gives it back, and returns how many pages the kernel had to find for it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(2**20, np.uint8) for _ in range(64)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_memory_that_was_freed_is_used_again() -> None:
    keep_freed_memory()
    page_faults()
    # 64 MiB are 16,384 pages.
    assert page_faults() < 1000
