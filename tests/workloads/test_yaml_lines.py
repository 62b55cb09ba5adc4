import sys
import time
from collections import Counter
from typing import Any

import pytest
import yaml

from training_workloads.validation import InputError, OddNumber
from training_workloads.yaml_lines import YamlDocument, read_yaml

TEXT = """\
# a comment
kind: Job
spec:
  sizes: [1,
          2]
  base: &base {a: 1}
  other:
    <<: *base
    b: 1.30
---
- first
"""


def only(text: str, **options: Any) -> YamlDocument:
    (document,) = read_yaml(text, **options)
    return document


def test_reads_every_document() -> None:
    first, second = read_yaml(TEXT)
    assert first.content == {
        "kind": "Job",
        "spec": {"sizes": [1, 2], "base": {"a": 1}, "other": {"a": 1, "b": 1.3}},
    }
    assert second.content == ["first"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 2),
        (("kind",), 2),
        (("spec", "sizes", 1), 5),
        (("spec", "other", "b"), 9),
        (("spec", "other", "a"), 6),
        (("spec", "missing", "a"), 3),
        (("spec", "sizes", 7), 4),
        (("kind", "a"), 2),
    ],
)
def test_each_value_has_its_line(path: tuple[str | int, ...], line: int) -> None:
    document = read_yaml(TEXT, "job.yaml")[0]
    assert (document.line(path), document.where(path)) == (line, f"job.yaml:{line}")


def test_lines_count_over_all_documents() -> None:
    assert read_yaml(TEXT)[1].where((0,)) == "line 11"


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        (("kind",), "Job"),
        (("spec", "other", "b"), "1.30"),
        (("spec", "base"), "&base {a: 1}"),
        (("spec", "sizes"), "a list"),
        (("spec",), "a mapping"),
        (("spec", "missing"), None),
    ],
)
def test_a_value_can_be_shown_as_typed(path: tuple[str, ...], typed: str | None) -> None:
    found = read_yaml(TEXT)[0].typed(path)
    assert found == typed
    assert found is None or repr(found) == typed


@pytest.mark.parametrize("date", ["2026-11-21", "2026-11-21T10:00:00Z", "!!timestamp 2026-11-21"])
def test_dates_stay_text(date: str) -> None:
    assert only(f"a: {date}").content == {"a": date.split()[-1]}


def test_keys_are_the_text_that_was_typed_where_asked_for() -> None:
    text = "{yes: &a no, 1: 2, ~: 3, *a : 4, <<: {x: 5}}"
    assert only(text, strict=True).content == {"yes": False, "1": 2, "~": 3, "no": 4, "x": 5}
    assert only("{yes: 1}").content == {True: 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 02\n", "job.yaml:4: 'b.c' is 02, but line 3 has the same key; keep one of them"),
        ("{a: 1, a: [2]}", "job.yaml:1: 'a' is [2], but the same line has the same key; keep one of them"),
        ("a:\n- ? [b]\n  : 1\n", "job.yaml:2: 'a[0]' is [b], but it is the key of a value; give a name as the key"),
        ("{a: b}: 1\n", "job.yaml:1 is {a: b}, but it is the key of a value; give a name as the key"),
    ],
)
def test_a_duplicate_or_nested_key_is_a_problem(text: str, problem: str) -> None:
    document = only(text, source="job.yaml")
    assert [str(each) for each in document.problems] == [problem]


def test_the_last_of_duplicate_keys_has_the_value_and_the_line() -> None:
    document = only("a: 1\na: 2\n")
    assert (document.content, document.line(("a",))) == ({"a": 2}, 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a: 1\n b: [\n",
            "job.yaml:2 is 'b: [', but this is not YAML: no name with a value can stand here; indent it like its "
            "neighbours, or quote a text that contains ': '",
        ),
        (
            "a:\n  b: 1\n c: 2\n",
            "job.yaml:3 is 'c: 2', but this is not YAML: its indentation fits neither its neighbours nor a new level; "
            "indent it like its neighbours",
        ),
        (
            "a: [\n",
            "job.yaml:2 is the end, but this is not YAML: expected the node content, but found '<stream end>'; "
            "correct it",
        ),
        (
            "a: {{ .Values.name }}\n",
            "job.yaml:1 is a Helm template, but YAML is needed; run 'helm template' and use what it prints",
        ),
        ("a: &a [*a]", "job.yaml:1 is 'a: &a [*a]', but an alias is inside its own anchor; remove the alias"),
        (
            "a: &a {<<: *a}",
            "job.yaml:1 is 'a: &a {<<: *a}', but an alias is inside its own anchor; remove the alias",
        ),
        (
            "spec:\n\treplicas: 1\n",
            "job.yaml:2 is 'replicas: 1', but this is not YAML: found character '\\t' that cannot start any token; "
            "replace the tab with spaces",
        ),
        (
            "a: 1\nb: !!int x",
            "job.yaml:2 is 'b: !!int x', but a value of int is not written so; write the value without a tag",
        ),
        (
            "a: !secret x",
            "job.yaml:1 is 'a: !secret x', but this is not YAML: could not determine a constructor for the tag "
            "'!secret'; correct it",
        ),
        (
            "a: \x00",
            "job.yaml is not YAML, but unacceptable character #x0000: special characters are not allowed; correct it",
        ),
        (b"a: \xff", "job.yaml is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_rejects_what_is_not_yaml(text: str | bytes, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_yaml(text, "job.yaml")
    assert str(error.value) == problem


@pytest.mark.parametrize("text", ["a: !!bool x", "a: !!float ''", "a: b: c", "%"])
def test_every_error_of_yaml_is_a_problem(text: str) -> None:
    with pytest.raises(InputError) as error:
        read_yaml(text)
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("typed", ["010", "2:30", "0x10", "0b11", "1_000", "+5", "00"])
def test_a_number_in_another_notation_is_none_where_plain_ones_are_wanted(typed: str) -> None:
    assert isinstance(only(f"a: {typed}").content["a"], int)
    assert only(f"a: {typed}", strict=True).content == {"a": OddNumber(typed)}
    assert str(OddNumber(typed)) == typed


def test_plain_numbers_are_numbers() -> None:
    assert only("[0, 7, -3, 1200]", strict=True).content == [0, 7, -3, 1200]


def bomb(levels: int, line: str) -> str:
    """Each level contains the one below it nine times."""
    lines = ["a0: &a0 {k: v}"]
    for level in range(levels):
        lines.append(f"a{level + 1}: &a{level + 1} " + line.format(", ".join([f"*a{level}"] * 9)))
    return "\n".join(lines)


@pytest.mark.parametrize("line", ["[{}]", "{{<<: [{}]}}", "{{x: [{}]}}"])
def test_rejects_aliases_that_multiply_at_once(line: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError, match="but the aliases stand for more than 100000 values; write fewer aliases"):
        read_yaml(bomb(9, line))
    # Expanded, they took minutes and the memory of a large machine.
    assert time.process_time() - start < 30


def test_a_text_may_be_long_and_have_some_aliases() -> None:
    assert len(only(bomb(3, "[{}]")).content) == 4
    assert len(only("[" + "{}, " * 30_000 + "]").content) == 30_000


def test_rejects_endless_nesting() -> None:
    assert only("[" * 100 + "]" * 100).content
    with pytest.raises(InputError, match="but values are nested more than 100 levels deep; nest fewer levels"):
        read_yaml("[" * 5000)


@pytest.mark.parametrize(("text", "contents"), [("", []), ("# nothing\n", []), ("---\n---\n", [None, None])])
def test_a_text_without_values(text: str, contents: list[None]) -> None:
    assert [document.content for document in read_yaml(text)] == contents


def test_a_tab_behind_a_colon_is_a_blank_as_for_kubectl() -> None:
    assert only("kind:\tMPIJob\n").content == {"kind": "MPIJob"}


def test_reading_takes_calls_in_proportion_to_the_text() -> None:
    # Calls, and not seconds: the same number on each machine, however busy it is.
    def calls(documents: int) -> int:
        text = "---\na: {b: [1, 2, 3], c: 'text'}\n" * documents
        events = Counter[str]()
        sys.setprofile(lambda _frame, event, _argument: events.update((event,)))
        try:
            assert len(read_yaml(text)) == documents
        finally:
            sys.setprofile(None)
        return events["call"] + events["c_call"]

    # Four times the text; sixteen times would be the square.
    assert calls(400) < 4.1 * calls(100)


def test_the_parser_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x {b: [1, yes]}\nc: *x\n---\n- '2026-11-21'\n"
    fast = [(document.content, document.line(("c",))) for document in read_yaml(text)]
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert [(document.content, document.line(("c",))) for document in read_yaml(text)] == fast
