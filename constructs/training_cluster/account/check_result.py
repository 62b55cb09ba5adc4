"""What a check of the account found: a row of the table of `trainctl cluster preflight`."""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FAILED", "OK", "SKIPPED", "CheckResult", "decided", "skipped"]

OK: Final = "ok"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """What a check found.

    Attributes:
        check: What was checked.
        state: Whether it is as needed; `skipped` where that cannot be known.
        actual: What the account has, or why the check was skipped.
        needed: What the configuration needs.
        remedy: What to do, in the imperative; empty where nothing is to be done.
    """

    check: str
    state: Literal["ok", "failed", "skipped"]
    actual: str
    needed: str = ""
    remedy: str = ""


def decided(check: str, ok: bool, *, actual: str, needed: str, remedy: str) -> CheckResult:
    """Return the result of a check that could decide.

    Args:
        check: What was checked.
        ok: Whether it is as needed.
        actual: What the account has.
        needed: What the configuration needs.
        remedy: What to do if it is not.
    """
    return CheckResult(
        check=check, state=OK if ok else FAILED, actual=actual, needed=needed, remedy="" if ok else remedy
    )


def skipped(check: str, why: str, remedy: str = "") -> CheckResult:
    """Return the result of a check that could not decide.

    Args:
        check: What was to be checked.
        why: Why it was not.
        remedy: What makes it possible.
    """
    return CheckResult(check=check, state=SKIPPED, actual=why, remedy=remedy)
