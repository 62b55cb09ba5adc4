"""The values of an MPIJob that stop the operator for every namespace, by the definition of this project.

Its Go types cannot decode them, or it has no memory for them. The definition rejects them, but a cluster may have an
older one, or jobs from before it.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from training_workloads.manifests.schema_problems import SchemaProblem, validator_of_schema
from training_workloads.mpijob.definition import mpi_job_schema
from training_workloads.mpijob.pod_schema import SIZES, json_schema, pod_template_schema, problems_of_decoding

__all__ = ["decoding_failures", "decoding_problems"]

# Of the values beyond a bound it alone ends the operator, for want of memory.
_WORKERS = ("spec", "mpiReplicaSpecs", "Worker", "replicas")

# What Go's parser takes as an amount beyond the pattern of a definition: 'Gi' and '.' are zero to it, and an exponent
# may have any number of digits. It trims the space around the text in the JSON, where a tab or newline is an escape.
# https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/resource/quantity.go
_PARSED = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,18})?"
    r"|[+-]?\.?([numkMGTPE]|[KMGT]i|[eE](\+?[0-9]{1,18}|-0{0,17}[0-9]))?"
)
_TRIMMED = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def decoding_failures(job: Any) -> Iterator[SchemaProblem]:
    """Yield the problem of each value that stops the operator.

    Args:
        job: An MPIJob of any shape, as read from a cluster.
    """
    for problem in decoding_problems(job):
        is_bound = problem.keyword in ("maximum", *SIZES)
        is_amount = problem.keyword == "format" and _is_parsed(problem.given)
        if problem.path == _WORKERS or not (is_bound or is_amount):
            yield problem


def decoding_problems(job: Any) -> Iterator[SchemaProblem]:
    """Yield the problem of each value that the operator cannot decode, or would decode as another, or beyond a bound.

    Args:
        job: An MPIJob of any shape, as read from a file or a cluster. Its `metadata` is the API server's to check.
    """
    yield from problems_of_decoding(_job_validator(), job)


@cache
def _job_validator() -> Any:
    schema = json_schema(mpi_job_schema(pod_template_schema()))
    # The API server checks the metadata of every object.
    return validator_of_schema(schema | {"properties": schema["properties"] | {"metadata": {}}})


def _is_parsed(text: Any) -> bool:
    trimmed = text.strip(_TRIMMED) if isinstance(text, str) else ""
    return bool(trimmed and _PARSED.fullmatch(trimmed))
