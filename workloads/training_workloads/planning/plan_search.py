"""Several setups: those of a sweep, and the cheapest one that meets a wish."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from itertools import product
from typing import Any

from training_workloads.planning.prediction import Prediction, predict
from training_workloads.planning.training_setup import MOST_NODES, TrainingSetup, may_be_shown
from training_workloads.validation import InputError, Problem, Problems, enforce

__all__ = ["SWEPT_NODES", "Wish", "best", "possible_setups", "searched_nodes"]

#: The nodes of a sweep: powers of two up to the most.
SWEPT_NODES = tuple(2**power for power in range(MOST_NODES.bit_length()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """Limits that a setup must keep.

    Attributes:
        target_epoch_minutes: Longest epoch, with its evaluation. Default: any.
        budget: Most dollars for the instances of all epochs to the accuracy. Default: any.
    """

    target_epoch_minutes: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        """Reject numbers that are not above 0."""
        enforce(self, (_is_above_zero,))


def best(setups: Sequence[TrainingSetup], wish: Wish, *, type_is_named: bool = True) -> Prediction:
    """Return the prediction that meets a wish.

    With a longest epoch it is the one with the cheapest epoch; with a budget alone the fastest one, because the
    cheapest is one node in nearly every case. A type that the user named keeps its figure, with a note; else no type is
    recommended by the ceiling of another framework.

    Raises:
        InputError: No setup meets it; the message has the closest.
    """
    compared = setups if type_is_named else [one for one in setups if may_be_shown(one, any_batch=True)]
    found = [predict(setup) for setup in compared or setups]
    met = [one for one in found if _in_time(one, wish) and _in_budget(one, wish)]
    if not met:
        raise InputError(*_not_met(found, wish))
    if wish.target_epoch_minutes is None:
        return min(met, key=lambda one: (one.seconds_to_accuracy or 0, one.usd_per_epoch or 0))
    return min(met, key=lambda one: (one.usd_per_epoch or 0, one.epoch_seconds))


def possible_setups(instance_types: Iterable[str], nodes: Iterable[int], **options: Any) -> list[TrainingSetup]:
    """Return the setups with these options; not those that a type or a number of nodes rules out.

    Raises:
        InputError: None is possible; the problems are those of the last one, which has the most nodes.
    """
    found, problems = [], InputError()
    for name, count in product(instance_types, nodes):
        try:
            found.append(TrainingSetup(instance_type=name, nodes=count, **options))
        except InputError as error:
            problems = error
    if not found:
        raise problems
    return found


def searched_nodes() -> list[int]:
    """Return every number up to 32, then steps of about a twelfth: between them a price changes little."""
    counts = list(range(1, 33))
    while counts[-1] < MOST_NODES:
        counts.append(min(MOST_NODES, counts[-1] + max(1, counts[-1] // 12)))
    return counts


def _in_time(one: Prediction, wish: Wish) -> bool:
    return wish.target_epoch_minutes is None or one.epoch_seconds <= wish.target_epoch_minutes * 60


def _in_budget(one: Prediction, wish: Wish) -> bool:
    return wish.budget is None or (one.usd_to_accuracy is not None and one.usd_to_accuracy <= wish.budget)


def _not_met(found: list[Prediction], wish: Wish) -> Problems:
    if not any(_in_time(one, wish) for one in found):
        yield _too_short(f"the shortest predicted epoch is {_minutes(found)} minutes", wish)
        return
    to_accuracy = [one for one in found if one.usd_to_accuracy is not None]
    if not to_accuracy:
        allowed = "no recipe is published for so large a global batch"
        yield Problem(path=("budget",), given=wish.budget, allowed=allowed, fix="give a smaller --batch-size")
        return
    in_time = [one for one in to_accuracy if _in_time(one, wish)]
    affordable = [one for one in to_accuracy if _in_budget(one, wish)]
    if in_time:
        yield _too_cheap(f"the cheapest predicted run is {_dollars(in_time)} dollars", wish, affordable)
    elif affordable:
        yield _too_short(f"the shortest predicted epoch within the budget is {_minutes(affordable)} minutes", wish)
    else:
        # Both are too low, and the run of the one message is that of the other.
        fastest = [min(to_accuracy, key=lambda one: one.epoch_seconds)]
        yield _too_short(f"the shortest predicted epoch with a published recipe is {_minutes(fastest)} minutes", wish)
        yield _too_cheap(f"that run is {_dollars(fastest)} dollars", wish, affordable)


def _too_short(allowed: str, wish: Wish) -> Problem:
    return Problem(path=("target_epoch_minutes",), given=wish.target_epoch_minutes, allowed=allowed, fix="raise it")


def _too_cheap(allowed: str, wish: Wish, affordable: list[Prediction]) -> Problem:
    longer = f", or give --target-epoch-minutes {_minutes(affordable)}" if affordable else ""
    return Problem(path=("budget",), given=wish.budget, allowed=allowed, fix=f"raise it{longer}")


def _minutes(found: list[Prediction]) -> str:
    """Return the shortest epoch with three digits, rounded up: as a wish it can be met."""
    shortest = Decimal(min(one.epoch_seconds for one in found) / 60)
    return f"{Context(prec=3, rounding=ROUND_CEILING).create_decimal(shortest):f}"


def _dollars(found: list[Prediction]) -> str:
    """Return the cheapest run in dollars and cents, rounded up: as a wish it can be met."""
    cheapest = min(one.usd_to_accuracy for one in found if one.usd_to_accuracy is not None)
    return f"{Decimal(cheapest).quantize(Decimal(1).scaleb(-2), rounding=ROUND_CEILING):f}"


def _is_above_zero(wish: Wish) -> Problems:
    for name, value in (("target_epoch_minutes", wish.target_epoch_minutes), ("budget", wish.budget)):
        if value is not None and not value > 0:
            yield Problem(path=(name,), given=value, fix="give a number above 0")
