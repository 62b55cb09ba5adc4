"""A request beside boto3's model of SageMaker's API: types, names, lengths, patterns and allowed values.

boto3 itself checks types and names; the service, after the request was sent, the rest.
"""

import re
from functools import cache
from typing import Any

from training_workloads.validation import Path, Problem, Problems

__all__ = ["model_problems"]

_OPERATION = "CreateTrainingJob"


def model_problems(request: dict[str, Any]) -> Problems:
    """Reject requests that the model of CreateTrainingJob does not allow."""
    # Here, because it takes time to import.
    from botocore.validate import ParamValidator

    model = _model()
    report = ParamValidator().validate(request, model)
    if report.has_errors():
        for line in report.generate_report().splitlines():
            yield Problem(path=("request",), given=_OPERATION, allowed=line, fix="correct the job")
        return
    yield from _problems(request, model, ())


@cache
def _model() -> Any:
    """Return the model, a file of several MB."""
    import botocore.session

    return botocore.session.get_session().get_service_model("sagemaker").operation_model(_OPERATION).input_shape


def _problems(value: Any, shape: Any, path: Path) -> Problems:
    if shape.type_name == "structure":
        for name, inner in value.items():
            yield from _problems(inner, shape.members[name], (*path, name))
    elif shape.type_name == "map":
        yield from _length(value, shape, path)
        for name, inner in value.items():
            yield from _text(name, shape.key, (*path, name))
            yield from _problems(inner, shape.value, (*path, name))
    elif shape.type_name == "list":
        yield from _length(value, shape, path)
        for number, inner in enumerate(value):
            yield from _problems(inner, shape.member, (*path, number))
    elif shape.type_name == "string":
        yield from _text(value, shape, path)
    elif value > shape.metadata.get("max", value):
        yield Problem(path=path, given=value, fix=f"give {shape.metadata['max']} or less")


def _length(value: Any, shape: Any, path: Path) -> Problems:
    limit = shape.metadata.get("max")
    if limit is not None and len(value) > limit:
        allowed = f"it has {len(value)} entries, and SageMaker takes at most {limit}"
        yield Problem(path=path, given=f"{len(value)} entries", allowed=allowed, fix="give fewer")


def _text(value: str, shape: Any, path: Path) -> Problems:
    limits = shape.metadata
    if len(value) > limits.get("max", len(value)):
        allowed = f"it has {len(value)} characters, and SageMaker takes at most {limits['max']}"
        yield Problem(path=path, given=value, allowed=allowed, fix="shorten it")
    elif shape.enum and value not in shape.enum:
        yield Problem(path=path, given=value, allowed="SageMaker does not know it", fix="choose another")
    elif not _fits(value, limits.get("pattern")):
        yield Problem(path=path, given=value, allowed=f"its form is not {limits['pattern']}", fix="correct it")


def _fits(value: str, pattern: str | None) -> bool:
    # Classes such as \p{L} are Java's; only tags and other services' ARNs have them.
    return pattern is None or r"\p" in pattern or re.fullmatch(pattern, value) is not None
