"""Which findings the user wants: the rules of `--select` and `--ignore`, and the comments that suppress one."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from training_workloads.lint.finding import Finding
from training_workloads.lint.rules import EVERY_RULE, SECURITY_RULES, SUPPRESSION_RULES
from training_workloads.lint.rules.suppression_rules import Suppression, suppressions
from training_workloads.validation import InputError, Problem, known_names

__all__ = ["SECURITY_IDS", "chosen_rules", "selected"]

_IDS = frozenset(rule.id for rule in EVERY_RULE)

#: The rules of the group `security`.
SECURITY_IDS = frozenset(rule.id for rule in SECURITY_RULES)

# Groups, which are selected by name; their rules run only where they are selected.
_GROUPS = {"security": SECURITY_IDS}
_DEFAULT = _IDS.difference(*_GROUPS.values())


def chosen_rules(select: Collection[str] | None = None, ignore: Collection[str] | None = None) -> frozenset[str]:
    """Return the ids of the rules that apply.

    Args:
        select: Only these, by their ids or the name of a group. Default: all that are in no group.
        ignore: Without these.

    Raises:
        InputError: There is no rule with one of these ids, and the message has the closest; or no rule is left.
    """
    given = {"select": select or (), "ignore": ignore or ()}
    problems = [
        Problem(path=(option,), given=name, allowed="no rule has this id", fix=_closest(name))
        for option, names in given.items()
        for name in names
        if name not in _IDS | _GROUPS.keys()
    ]
    if problems:
        raise InputError(*problems)
    chosen = (_DEFAULT if select is None else _ids(select)) - _ids(ignore or ())
    if not chosen:
        names = ", ".join(select or ())
        fix = "select a rule that is not ignored; docs/lint-rules.md lists them"
        raise InputError(Problem(path=("select",), given=names, allowed="no rule is left to check", fix=fix))
    return chosen


def _ids(names: Collection[str]) -> frozenset[str]:
    return frozenset(rule for name in names for rule in _GROUPS.get(name, (name,)))


def _closest(name: str) -> str:
    known = known_names(name, sorted(_IDS | _GROUPS.keys()))
    return known if known.startswith("did you mean") else "docs/lint-rules.md lists them"


def selected(
    located: Sequence[tuple[Finding, int]], text: str, rules: Collection[str] | None = None
) -> list[tuple[Finding, int]]:
    """Return the findings of some rules that no comment of the text suppresses, and those about the comments.

    Args:
        located: All findings of the text with their lines.
        text: The whole text.
        rules: Ids of the rules. Default: all that are in no group.
    """
    chosen = _DEFAULT if rules is None else rules
    comments = list(suppressions(text))
    valid = {(comment.covers, rule) for comment in comments if comment.reason for rule in comment.rules}
    kept = [pair for pair in located if pair[0].rule in chosen and (pair[1], pair[0].rule) not in valid]
    there = {(line, finding.rule) for finding, line in located}
    for comment in comments:
        judged = replace(comment, without_effect=_without_effect(comment, there, there - valid, chosen))
        for rule in SUPPRESSION_RULES:
            if rule.id in chosen:
                kept += [(finding, comment.line) for finding in rule.apply(judged)]
    return sorted(kept, key=lambda pair: pair[1])


def _without_effect(
    comment: Suppression,
    there: Collection[tuple[int, str]],
    open_: Collection[tuple[int, str]],
    chosen: Collection[str],
) -> tuple[tuple[str, str], ...]:
    """Return the rules of a comment that suppress nothing, each with what to do; of those that do not run none.

    Args:
        comment: The comment.
        there: Line and rule of each finding.
        open_: The same of those that no comment suppresses.
        chosen: The rules that apply.
    """
    if not comment.reason:
        return ()
    unknown = [(rule, _closest(rule)) for rule in comment.rules if rule not in _IDS]
    unused = [rule for rule in comment.rules if rule in chosen and (comment.covers, rule) not in there]
    return (*unknown, *((rule, _where_else(rule, comment.line, open_)) for rule in unused))


def _where_else(rule: str, line: int, open_: Collection[tuple[int, str]]) -> str:
    """Return where a comment belongs that suppresses nothing at its line."""
    lines = [other for other, found in open_ if found == rule]
    nearest = min(lines, key=lambda other: (abs(other - line), other), default=None)
    return "remove it" if nearest is None else f"move it to line {nearest}, which has the finding, or to the line above"
