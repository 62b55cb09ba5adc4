"""Check the title of a commit message: the hook `commit-msg` of .pre-commit-config.yaml."""

import re
import sys
from pathlib import Path

_LENGTH = 72

#: One or more areas, a colon, and the sentence without its period.
_FORM = re.compile(r"[\w.-]+(?:[,/ ] ?[\w.-]+)*: \S.*[^.\s]")

#: Titles that Git writes; the last two vanish when the branch is squashed.
_WRITTEN_BY_GIT = re.compile(r'Merge (branch|remote-tracking|commit|tag|pull request)|Revert "|fixup! |squash! ')


def problem(message: str) -> str | None:
    """Return the problem with the title, or None.

    Args:
        message: The whole commit message.
    """
    title, second = _first_lines(message)
    if _WRITTEN_BY_GIT.match(title):
        return None
    if len(title) > _LENGTH:
        return f"has {len(title)} characters; give {_LENGTH} at most, and say the rest in the body"
    if not _FORM.fullmatch(title):
        return "give 'area: imperative', such as 'lint: report a mask without a host', without a period"
    if second:
        return "give an empty line after it"
    return None


def _first_lines(message: str) -> tuple[str, str]:
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    return (*lines, "", "")[0], (*lines, "", "")[1]


def main(file: str) -> None:
    """Exit with 1 where the title is wrong."""
    message = Path(file).read_text()
    if found := problem(message):
        sys.exit(f"error: the title of the commit is {_first_lines(message)[0]!r}: {found}")


if __name__ == "__main__":
    main(*sys.argv[1:])
