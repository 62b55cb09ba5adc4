"""Draw a picture in another process, which cannot end or hang a run."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 60.0


def draw(
    picture: Path, module: str, arguments: Sequence[str], *, again: bool = True, seconds: float = _SECONDS
) -> None:
    """Run a module that draws a picture, and print a warning where that fails; the run has succeeded in any case.

    Args:
        picture: Name of the picture.
        module: Such as `training.runtime.curve_picture`.
        arguments: Arguments of the module.
        again: Whether the same command draws it later, too.
        seconds: After which it counts as failed.
    """
    command = [sys.executable, "-m", module, *arguments]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.SubprocessError) as error:
        how = f"; to draw it: python -m {module} {' '.join(arguments)}" if again else ""
        print(f"warning: {picture} was not drawn ({_reason(error)}){how}", file=sys.stderr, flush=True)


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not finished after {error.timeout:g} s"
    if isinstance(error, subprocess.CalledProcessError) and error.stderr.strip():
        # The last line of a traceback.
        return str(error.stderr.strip().splitlines()[-1])
    return str(error)
