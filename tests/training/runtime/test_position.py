import json
from typing import Any

import pytest

from training.runtime.position import Position


def test_steps_of_the_same_ranks_are_one_segment() -> None:
    position = Position().after_step(2, 16).after_step(2, 16)
    assert (position.step, position.epoch, position.images) == (2, 0, 64)
    assert len(position.segments) == 1


def test_other_ranks_begin_another_segment() -> None:
    position = Position().after_step(2, 16).after_step(1, 16).after_step(1, 16).after_step(1, 8)
    found = [(each.world_size, each.batch_size, each.steps) for each in position.segments]
    assert found == [(2, 16, 1), (1, 16, 2), (1, 8, 1)]
    assert position.images == 32 + 32 + 8


def test_an_epoch_begins_with_nothing_trained_and_keeps_the_steps() -> None:
    position = Position().after_step(2, 16).after_epoch()
    assert (position.step, position.epoch, position.images) == (1, 1, 0)


def test_position_survives_json() -> None:
    position = Position().after_step(2, 16).after_step(1, 16).after_epoch().after_step(4, 8)
    assert Position.from_json(json.loads(json.dumps(position.to_json()))) == position


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "step",
        {"step": 1, "epoch": 0},
        {"step": "1", "epoch": 0, "segments": []},
        {"step": 1, "epoch": -1, "segments": []},
        {"step": 1.0, "epoch": 0, "segments": []},
        {"step": True, "epoch": 0, "segments": []},
        {"step": 1, "epoch": 0, "segments": 3},
        {"step": 1, "epoch": 0, "segments": [[2, 16]]},
        {"step": 1, "epoch": 0, "segments": [[2, 16, 1, 1]]},
        {"step": 1, "epoch": 0, "segments": [[2, 16, None]]},
    ],
)
def test_what_another_program_wrote_is_no_position(content: Any) -> None:
    with pytest.raises(ValueError, match="not a position"):
        Position.from_json(content)
