from dataclasses import replace
from typing import Any

import pytest

from training_workloads.validation import (
    InputError,
    Problem,
    Problems,
    at_least,
    enforce,
    instance_of,
    known_names,
    matches,
    one_of,
    shown,
    unknown,
)


def texts(problems: Problems) -> list[str]:
    return list(map(str, problems))


def test_an_unknown_name_is_answered_with_the_closest() -> None:
    assert texts(unknown("instance_type", "p4d.24xlage", ["p4d.24xlarge", "c5.large"])) == [
        "'instance_type' is 'p4d.24xlage', but it is not known; did you mean p4d.24xlarge? known: c5.large, "
        "p4d.24xlarge"
    ]
    assert texts(unknown("instance_type", "c5.large", ["p4d.24xlarge", "c5.large"])) == []


def test_a_name_without_a_close_one_is_answered_with_all_that_are_known() -> None:
    assert texts(unknown("recipe", "zzz", ["b", "a"])) == ["'recipe' is 'zzz', but it is not known; known: a, b"]


def test_a_long_list_is_not_shown_where_a_name_is_close() -> None:
    names = [f"p{number}.xlarge" for number in range(11)]
    hint = known_names("p10.xlage", names)
    assert "did you mean p10.xlarge or " in hint
    assert "known:" not in hint
    assert "known: p0.xlarge, " in known_names("gpu", names)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("p5", "p5.4xlarge or p5.48xlarge"),
        ("p5e", "p5e.48xlarge"),
        ("P5E.48XLARGE", "p5e.48xlarge"),
        (" p5e.48xlarge", "p5e.48xlarge"),
        ("p", "none"),
        ("", "none"),
    ],
)
def test_the_same_name_in_other_letters_or_its_beginning_comes_first(value: str, meant: str) -> None:
    names = ["p5.4xlarge", "p5.48xlarge", "p5e.48xlarge"]
    hint = f"did you mean {meant}? " if meant != "none" else ""
    assert known_names(value, names) == f"{hint}known: p5.48xlarge, p5.4xlarge, p5e.48xlarge"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "'workers' is 0; give 1 or more"),
        (9, "'workers' is 9; give 8 or less"),
        ("2", "'workers' is '2'; give a whole number, 1 or more"),
        (True, "'workers' is True; give a whole number, 1 or more"),
    ],
)
def test_rejects_a_number_outside_its_range(value: object, text: str) -> None:
    assert texts(at_least("workers", 8, 1, 8)) == []
    assert texts(at_least("workers", value, 1, 8)) == [text]


def test_rejects_other_values_forms_and_types() -> None:
    assert texts(one_of("efa", "no", (True, False))) == ["'efa' is 'no'; give one of True, False"]
    # They are equal in Python, not in Kubernetes.
    assert texts(one_of("efa", 1, (True, False))) == ["'efa' is 1; give one of True, False"]
    assert texts(one_of("count", True, (1, 2))) == ["'count' is True; give one of 1, 2"]
    assert texts(matches("name", "A", "[a-z]+", "lower-case letters")) == ["'name' is 'A'; give lower-case letters"]
    assert texts(matches("name", None, "[a-z]+", "lower-case letters")) == ["'name' is None; give lower-case letters"]
    assert texts(instance_of("spec", 5, Problem, Exception)) == ["'spec' is 5; give Problem(...) or Exception(...)"]


def test_a_value_of_pages_is_shortened_and_an_object_shows_its_type() -> None:
    assert shown({"a": "b"}) == "{'a': 'b'}"
    assert len(shown({"a": "b" * 10_000})) < 100
    assert (shown(InputError()), shown(object())) == ("an InputError", "an object")
    assert shown(InputError) == "the class InputError"
    cyclic: dict[str, Any] = {}
    cyclic["a"] = cyclic
    assert shown(cyclic).endswith("{'a': ...}}}}}}}}}")
    assert shown([object(), {"a": (object(), "b")}]) == "[an object, {'a': [an object, 'b']}]"


def test_objects_and_values_of_the_cdk_are_named() -> None:
    late = "a value that only the deployment knows"
    assert shown("arn:${Token[Role.1]}") == shown(["#{Token[TOKEN.2]}"])[1:-1] == shown(-1.8881545897087968e289) == late
    proxy = type("_IBucketProxy", (), {})()
    assert shown(proxy) == "an object of the CDK"
    assert texts(unknown("instance_type", "${Token[Type.3]}", ["c5.large"])) == [
        f"'instance_type' is {late}, but it decides what is deployed; give one of c5.large"
    ]


def test_every_problem_is_reported_once_and_all_at_once() -> None:
    def positive(number: int) -> Problems:
        yield from at_least("number", number, 1)

    def even(number: int) -> Problems:
        if number % 2:
            yield Problem(path=("number",), given=number, fix="give an even one")

    def raises(number: int) -> Problems:
        enforce(number, [positive, even])
        return iter(())

    enforce(2, [positive, even, raises])
    with pytest.raises(InputError) as caught:
        enforce(-1, [positive, even, even, raises])
    assert str(caught.value) == "'number' is -1; give 1 or more\n'number' is -1; give an even one"
    assert [problem.path for problem in caught.value.problems] == [("number",), ("number",)]


def test_a_problem_below_another_value_has_the_whole_path() -> None:
    problem = Problem(path=("a",), given=1, fix="give 2", related=(("b",),)).under("jobs", 0)
    assert (problem.path, problem.related) == (("jobs", 0, "a"), (("jobs", 0, "b"),))
    assert str(problem) == "'jobs[0].a' is 1; give 2"
    assert problem.text("--a", "one") == "'--a' is one; give 2"


def test_an_error_may_have_a_text_alone() -> None:
    error = InputError("the bucket\n is empty", Problem(path=("size",), given=0, fix="give 1 or more"))
    assert str(error) == "the bucket is empty\n'size' is 0; give 1 or more"
    assert str(replace(error.problems[0], source="recipes.py:3").under("job")) == "recipes.py:3: the bucket is empty"
