import resource

import numpy as np

from training.records.kept_memory import keep_freed_memory


def page_faults() -> int:
    """Allocate and free 64 MiB; return the number of page faults."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(2**20, np.uint8) for _ in range(64)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_reuses_freed_memory() -> None:
    keep_freed_memory()
    page_faults()
    # 64 MiB are 16,384 pages.
    assert page_faults() < 1000
