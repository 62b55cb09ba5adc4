"""The result of a check of the account: a row of the table of `trainctl cluster preflight`."""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FAILED", "OK", "SKIPPED", "CheckResult", "decided", "skipped"]

OK: Final = "ok"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """The result of a check.

    Attributes:
        check: The subject of the check.
        state: Whether it is as needed; `skipped` where that cannot be known.
        actual: The value in the account, or why the check was skipped.
        needed: The value that the configuration needs.
        remedy: The fix, in the imperative; empty where none is needed.
    """

    check: str
    state: Literal["ok", "failed", "skipped"]
    actual: str
    needed: str = ""
    remedy: str = ""


def decided(check: str, ok: bool, *, actual: str, needed: str, remedy: str) -> CheckResult:
    """Return the result of a check that could decide; the remedy is dropped where all is as needed."""
    return CheckResult(
        check=check, state=OK if ok else FAILED, actual=actual, needed=needed, remedy="" if ok else remedy
    )


def skipped(check: str, why: str, remedy: str = "") -> CheckResult:
    """Return the result of a check that could not decide, why, and the way to make it possible."""
    return CheckResult(check=check, state=SKIPPED, actual=why, remedy=remedy)
