"""The most that a job may cost: the price of its workers, by which its launcher, or the agent of torchrun, counts."""

from training_workloads.catalog import InstanceType
from training_workloads.validation import Problem, Problems

__all__ = ["cap_options", "cap_problems"]

_FIELD = "max_cost"
_MINUTES_OF_AN_HOUR = 60

# Options of both programs.
_MAX_COST, _USD_PER_HOUR = "--max-cost", "--usd-per-hour"


def _usd_per_hour(instance: InstanceType, gpus: int) -> float | None:
    """Return the On-Demand price of a worker, its share of the node's by GPUs; None where the catalog has none."""
    return instance.price.usd_per_hour * gpus / instance.gpus if instance.price and instance.gpus else None


def cap_options(max_cost: float | None, instance: InstanceType, gpus: int, workers: int = 1) -> dict[str, str]:
    """Return the options of the program that counts the cost of some workers; none without a cap."""
    price = _usd_per_hour(instance, gpus)
    if max_cost is None or price is None:
        return {}
    return {_MAX_COST: f"{max_cost:.10g}", _USD_PER_HOUR: f"{round(price * workers, 4):.10g}"}


def cap_problems(max_cost: float | None, instance: InstanceType, gpus: int, workers: int) -> Problems:
    """Reject a cap of a job without a price, and one that ends the job as soon as it starts."""
    if max_cost is None:
        return
    price = _usd_per_hour(instance, gpus)
    if price is None:
        allowed = f"the catalog has no price of {instance.name}"
        fix = "omit it, and limit the time with 'deadline_seconds'"
        yield Problem(path=(_FIELD,), given=max_cost, allowed=allowed, fix=fix)
        return
    minute = price * workers / _MINUTES_OF_AN_HOUR
    if max_cost < minute:
        nodes = f"{workers} x {gpus} GPUs of {instance.name}"
        allowed = f"a minute of {nodes} costs ${minute:,.2f}"
        fix = "give dollars for the whole run, all its starts together"
        yield Problem(path=(_FIELD,), given=max_cost, allowed=allowed, fix=fix)
