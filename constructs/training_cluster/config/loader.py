"""Load a configuration file, apply the options `-c key=value`, and report every mistake at once with its place."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from os import PathLike
from typing import Any

from training_cluster.config.cluster_config import ClusterConfig
from training_workloads.spec import Override
from training_workloads.validation import MISSING, InputError, Path, Problem, dotted, known_names, shown
from training_workloads.yaml_lines import Typed, YamlDocument, read_settings, read_yaml

__all__ = ["load_config"]

# Keys that AWS CDK itself keeps in the context: feature flags, settings, look-ups of an account, notes of its CLI.
_CDK_KEY = re.compile(r"@.*|aws(-cdk)?:.*|[\w-]+:account=.*|cli-telemetry|acknowledged-issue-numbers")

# Sections with names that the user chose, and the keys that each needs, such as node_groups.gpu.instance_type.
_NAMED = {"node_groups": "instance_type", "service_accounts": "prefix"}


def load_config(path: str | PathLike[str], context: Mapping[str, Any] | None = None) -> ClusterConfig:
    """Load a configuration file and apply the values of `cdk -c key=value`.

    An empty key has its default.

    Args:
        path: The YAML file.
        context: The CDK context. A key is a dotted path to a value of the file, such as
            `node_groups.gpu.instance_type`; keys of CDK itself are ignored.

    Raises:
        InputError: The file does not exist or is not a mapping, or one or more values are not allowed.
    """
    fix = "create it, start the app in its folder, or give another file with '-c config=<file>'"
    document = read_settings(str(path), "config", fix)
    options = {key: value for key, value in (context or {}).items() if not _CDK_KEY.fullmatch(key)}
    settings, problems = document.content, list(document.problems)
    applied: dict[str, Any] = {}
    # A section as a whole comes before its parts.
    for key in sorted(options, key=lambda key: key.count(".")):
        try:
            settings = _with(settings, tuple(key.split(".")), _value(key, options[key]), key)
            applied[key] = options[key]
        except InputError as error:
            problems += (replace(problem, source=f"-c {key}") for problem in error.problems)
    config, found = _validate(settings)
    problems += (_located(problem, document, applied) for problem in found)
    if config is None or problems:
        # In the order of the file; the options come last.
        sources = {f"-c {key}" for key in options}
        raise InputError(*sorted(problems, key=lambda each: inf if each.source in sources else _line(each, document)))
    return config


def _validate(settings: Any) -> tuple[ClusterConfig | None, tuple[Problem, ...]]:
    try:
        return ClusterConfig.model_validate(settings), ()
    except InputError as error:
        return None, error.problems


def _value(key: str, given: Any) -> Any:
    """Return the section or list that a text is; other text keeps its form until its field decides the type."""
    if not isinstance(given, str):
        return given
    try:
        documents = read_yaml(given, strict=True)
    except InputError as error:
        if "{{" in given:
            # In a file that is a Helm template; an option is not rendered by Helm.
            path, fix = tuple(key.split(".")), "give the value itself"
            raise InputError(Problem(path=path, given=given, allowed="it is a template", fix=fix)) from error
        if given.lstrip()[:1] in ("[", "{"):
            raise InputError(*(problem.under(*key.split(".")) for problem in error.problems)) from error
        return Override(given)
    if not documents or not isinstance(documents[0].content, dict | list):
        return Override(given)
    if problems := documents[0].problems:
        raise InputError(*(problem.under(*key.split(".")) for problem in problems))
    return documents[0].content


def _with(section: Any, path: Path, value: Any, key: str) -> Any:
    """Return a copy with one other value: an alias of YAML may use the same section twice."""
    if not path:
        return value
    above, names = tuple(key.split("."))[: -len(path)], {} if section is None else section
    if not isinstance(names, dict):
        allowed, fix = f"{dotted(above)} has no keys", f"give it as a whole: -c '{dotted(above)}=…'"
        raise InputError(Problem(path=(*above, *path), given=value, allowed=allowed, fix=fix))
    # A misspelled name would otherwise define a second section.
    if len(above) == 1 and len(path) > 1 and above[0] in _NAMED and path[0] not in names:
        meant = f"{known_names(str(path[0]), names)}; " if names else ""
        fix = f"{meant}give a new one as a whole: -c '{dotted((*above, path[0]))}={{{_NAMED[above[0]]}: …}}'"
        raise InputError(Problem(path=(*above, path[0]), given=MISSING, allowed="an option sets a part of it", fix=fix))
    return {**names, str(path[0]): _with(names.get(path[0]), path[1:], value, key)}


def _located(problem: Problem, document: YamlDocument, options: Mapping[str, Any]) -> Problem:
    """Return a problem with its place and its value as the user typed them."""
    typed, option = document.typed(problem.path), _option(problem.path, options)
    by_default = typed is None and not option
    if by_default:
        # An option may give a value that the rule compared with this one.
        option = next(filter(None, (_option(other, options) for other in problem.related)), ())
    if option and (typed is None or _starts(problem.path, option)):
        typed, source = None, f"-c {dotted(option)}"
    else:
        line = _line(problem, document)
        source = f"{document.source}:{line}" if line else document.source
    given = _by_default(problem.given) if by_default else _as_typed(problem.given, typed)
    return replace(problem, given=given, source=source)


def _by_default(given: Any) -> Any:
    """Return a value that the user did not give, in words."""
    if given in (None, {}, ()) or given is MISSING:
        return MISSING
    return Typed(f"{shown(given if isinstance(given, str) else _as_typed(given, None))} by default")


def _as_typed(given: Any, typed: str | None) -> Any:
    if given is None:
        return Typed("empty")
    if given is MISSING or isinstance(given, str):
        return given
    return typed or Typed(json.dumps(given, ensure_ascii=False, default=str))


def _line(problem: Problem, document: YamlDocument) -> int:
    """Return the line of a value or, of a missing one, of the value that needs it; 0 if neither is in the file."""
    return next((document.line(path) for path in (problem.path, *problem.related) if document.typed(path[:1])), 0)


def _option(path: Path, options: Mapping[str, Any]) -> Path:
    """Return the option that gives a value: the longest around it, else one that gives a part of it."""
    paths = sorted((tuple(key.split(".")) for key in options), key=len, reverse=True)
    around = (each for each in paths if _starts(path, each))
    return next(around, next((each for each in paths if _starts(each, path)), ()))


def _starts(path: Path, beginning: Path) -> bool:
    return path[: len(beginning)] == beginning
