from typing import Any

import pytest
import torch

from training.runtime import ranks
from training.torch.logged_values import LoggedValues


class Two(ranks.Ranks):
    """Two ranks, of which the other logs other values."""

    other: dict[str, float]

    def gather(self, value: Any, name: str) -> list[Any]:
        return [value, self.other]


def test_the_mean_is_over_the_ranks_that_log_a_name() -> None:
    two = Two(0, 2)
    ranks.use(two)
    logged = LoggedValues()
    logged.add_losses({"loss": torch.tensor(1.0), "of rank zero": 5.0})
    two.other = {"loss": 2.0}
    assert logged.losses() == {"loss": 1.5, "of rank zero": 5.0}


def test_the_mean_of_an_epoch_continues_after_a_resume() -> None:
    logged, resumed = LoggedValues(), LoggedValues()
    for loss in (1.0, 2.0):
        logged.begin_step()
        logged.add_losses({"loss": torch.tensor(loss)})
        logged.end_step()
    resumed.load_state_dict(logged.state_dict())
    for each in (logged, resumed):
        each.begin_step()
        each.add_losses({"loss": torch.tensor(6.0)})
        each.end_step()
        each.add_metrics({"accuracy": 0.5})
        assert each.end_epoch() == {"loss": pytest.approx(3.0), "accuracy": 0.5}
        assert each.end_epoch() == {}
