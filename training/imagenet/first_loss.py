"""The first loss of a run, which shows whether images and labels are those of the options."""

import math

from training.runtime.errors import UserError

# How far the first loss may be from ln(classes), the loss of a network that has learned nothing.
_DISTANCE = 1.0


def check(loss: float, classes: int) -> None:
    """Reject a first loss that is not that of an untrained network.

    Raises:
        UserError: Labels or images are not those of the options.
    """
    expected = math.log(classes)
    if not abs(loss - expected) <= _DISTANCE:
        raise UserError(
            f"the first loss is {loss:.2f}, but that of {classes} classes is about {expected:.2f} before "
            "anything is learned; check the images, the labels and '--classes'"
        )
