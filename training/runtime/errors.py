"""The mistakes that a user can make and mend."""

import math


class UserError(Exception):
    """A mistake in what the user gave: the message says what was given, what is allowed, and what to do."""


class RankError(UserError):
    """One that this rank has met, such as a damaged file that only it reads: the others know nothing of it."""


def check_finite(loss: float, epoch: int) -> None:
    """Stops a run that has diverged, before its weights become a checkpoint.

    Raises:
        UserError: The loss is not a number, or infinite. Every rank has the same loss, so all of them raise.
    """
    if not math.isfinite(loss):
        raise UserError(
            f"the loss of epoch {epoch} is {loss}; the checkpoint before it is kept: "
            "lower '--learning-rate' or raise '--warmup-epochs', with another '--output-dir'"
        )
