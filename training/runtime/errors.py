"""Errors that a user can fix."""

import math


class UserError(Exception):
    """An error in the input: the message says what was given, what is allowed, and what to do."""


class RankError(UserError):
    """An error of this rank alone, such as a damaged file that only it reads: the other ranks do not know of it."""


def check_finite(loss: float, epoch: int) -> None:
    """Reject a run that has diverged, before its weights become a checkpoint.

    Raises:
        UserError: The loss is not a number, or infinite. Every rank has the same loss, so all of them raise.
    """
    if not math.isfinite(loss):
        raise UserError(
            f"the loss of epoch {epoch} is {loss}; the checkpoint before it is kept: "
            "lower '--learning-rate' or raise '--warmup-epochs', with another '--output-dir'"
        )
