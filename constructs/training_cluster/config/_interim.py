"""Until every rule yields problems: the sentences of the old interface as problems. Deleted with that interface."""

import re
from collections.abc import Callable
from typing import Any

from training_cluster.identity.job_identity import valid_prefix as valid_prefix
from training_cluster.monitoring.alarms import valid_email as valid_email
from training_workloads.platform.mirror import check_mirror
from training_workloads.validation import InputError, Problem, Problems
from training_workloads.yaml_lines import Typed


def old_problems(error: InputError) -> Problems:
    """Yield the problems of an error, and its sentences as problems."""
    for each in error.args:
        if isinstance(each, Problem):
            yield each
        elif parts := re.fullmatch(r"'([^']+)' (?:is|has) (.*?)(?:, (?:but )?(.*?))?; (.*)", each, re.DOTALL):
            path = tuple(int(part) if part.isdigit() else part for part in parts[1].split("."))
            yield Problem(path=path, given=Typed(parts[2]), allowed=parts[3] or "", fix=parts[4])
        else:
            yield Problem(path=(), given=Typed("wrong"), fix=each)


def _raised(check: Callable[..., None]) -> Callable[..., Problems]:
    def valid(name: str, value: Any, **options: Any) -> Problems:
        try:
            check(name, value, **options)
        except InputError as error:
            yield from old_problems(error)

    return valid


valid_mirror = _raised(check_mirror)
