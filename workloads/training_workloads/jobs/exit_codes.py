"""What the programs in `training/` say with their exit codes."""

__all__ = ["ASKED_TO_STOP", "USER_ERROR", "explained"]

#: A mistake that the user must mend first; another start would make it again.
USER_ERROR = 2

#: EX_TEMPFAIL of sysexits.h: the ranks were asked to stop, as by a Spot notice, and have saved their
#: state. The operator starts the launcher again, and the ranks go on from there.
ASKED_TO_STOP = 75

_MEANINGS = {ASKED_TO_STOP: "asked to stop, the state is saved: started again it goes on"}


def explained(code: int) -> str:
    """An exit code with what it means, where this project gave it a meaning."""
    return f"exit code {code}" + (f" ({_MEANINGS[code]})" if code in _MEANINGS else "")
