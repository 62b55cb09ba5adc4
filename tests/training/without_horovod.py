"""Importing this module makes every later import of Horovod fail, as where it is not installed."""

import sys

sys.modules["horovod"] = None  # type: ignore[assignment]
