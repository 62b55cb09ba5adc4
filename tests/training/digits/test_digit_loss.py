import math

import pytest

from training.digits.__main__ import check_finite
from training.runtime.errors import UserError


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_rejects_the_loss_of_a_diverged_run(loss: float) -> None:
    check_finite(2.3, 1)
    with pytest.raises(UserError, match=rf"^the loss of epoch 3 is {loss}; the checkpoint before it is kept: lower "):
        check_finite(loss, 3)
