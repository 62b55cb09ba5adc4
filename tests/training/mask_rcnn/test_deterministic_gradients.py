import subprocess
import sys

import pytest


@pytest.mark.whole_run
def test_the_same_seed_gives_the_same_gradients_to_the_bit() -> None:
    command = [sys.executable, "-m", "tests.training.mask_rcnn.mask_rcnn_gradients"]
    first, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert first == second
