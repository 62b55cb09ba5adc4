"""The curve of a run: loss and accuracy of each epoch, in results.json and as a picture beside it."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd

_PICTURE = "training.runtime.curve_picture"
_SECONDS = 60.0


def point(epoch: float, world_size: int, *, loss: Mapping[str, float], accuracy: Mapping[str, float]) -> dict[str, Any]:
    """Return one epoch for the `history` of results.json, which checkpoints keep: a resumed run has all of it.

    Args:
        epoch: Finished epochs; a fraction for an evaluation within one.
        world_size: Ranks that finished it.
        loss: Values by what they are of, such as `training`.
        accuracy: Likewise, such as `test` or `top-1`.
    """
    values = {"loss": loss, "accuracy": accuracy}
    rounded = {panel: {name: round(value, 6) for name, value in lines.items()} for panel, lines in values.items()}
    return {"epoch": epoch, "world_size": world_size, **rounded}


def draw(output: Path) -> None:
    """Draw results.json as curve.svg, and print a warning where that fails; the run has succeeded in any case.

    Call it last: no rank waits for the picture. Another process draws it, which cannot end or hang this one.

    Args:
        output: The folder given as '--output-dir'.
    """
    # Horovod: rank zero alone writes.
    if hvd.rank() != 0:
        return
    command = [sys.executable, "-m", _PICTURE, str(output)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        again = f"python -m {_PICTURE} {output}"
        print(
            f"warning: {output / 'curve.svg'} was not drawn ({_reason(error)}); to draw it: {again}",
            file=sys.stderr,
            flush=True,
        )


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not finished after {error.timeout:g} s"
    if isinstance(error, subprocess.CalledProcessError) and error.stderr.strip():
        # The last line of a traceback.
        return str(error.stderr.strip().splitlines()[-1])
    return str(error)
