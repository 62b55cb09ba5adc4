"""Settings of the tests of the library's part for PyTorch."""

from collections.abc import Iterator

import pytest
import torch

from training.runtime import curve, ranks

# A process that is forked from one whose OpenMP has threads would wait for them for ever.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Leave no ranks of a test to the next."""
    yield
    ranks.use(ranks.Ranks())


@pytest.fixture(autouse=True)
def _no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "draw", lambda output: None)
