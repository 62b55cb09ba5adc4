import pytest

from training_workloads.validation import (
    MISSING,
    InputError,
    Problem,
    Problems,
    at_least,
    enforce,
    instance_of,
    known_names,
    matches,
    one_of,
    unknown,
)


def texts(problems: Problems) -> list[str]:
    return list(map(str, problems))


def test_suggests_the_closest_names() -> None:
    assert texts(unknown("instance_type", "p4d.24xlage", ["p4d.24xlarge", "c5.large"])) == [
        "'instance_type' is 'p4d.24xlage', but it is not known; "
        "did you mean p4d.24xlarge? known: c5.large, p4d.24xlarge"
    ]


def test_lists_all_names_if_none_is_close() -> None:
    assert known_names("zzz", ["b", "a"]) == "known: a, b"


def test_omits_a_long_list_if_a_name_is_close() -> None:
    names = [f"p{number}.xlarge" for number in range(11)]
    assert known_names("p10.xlage", names).startswith("did you mean p10.xlarge or ")
    assert "known:" not in known_names("p10.xlage", names)
    assert known_names("gpu", names).startswith("known: p0.xlarge, ")


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [
        ("p5", "p5.4xlarge or p5.48xlarge"),
        ("p5e", "p5e.48xlarge"),
        ("P5E.48XLARGE", "p5e.48xlarge"),
        (" p5e.48xlarge", "p5e.48xlarge"),
        ("p", "none"),
        ("", "none"),
    ],
)
def test_suggests_another_spelling_or_the_names_that_start_alike(value: str, suggestion: str) -> None:
    names = ["p5.4xlarge", "p5.48xlarge", "p5e.48xlarge"]
    hint = f"did you mean {suggestion}? " if suggestion != "none" else ""
    assert known_names(value, names) == f"{hint}known: p5.48xlarge, p5.4xlarge, p5e.48xlarge"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "'workers' is 0; give 1 or more"),
        (4, "'workers' is 4; give 3 or less"),
        (1.0, "'workers' is 1.0; give a whole number, 1 or more"),
        (True, "'workers' is True; give a whole number, 1 or more"),
        ("2", "'workers' is '2'; give a whole number, 1 or more"),
    ],
)
def test_at_least_rejects_other_numbers(value: object, text: str) -> None:
    assert texts(at_least("workers", value, 1, 3)) == [text]


def test_rules_accept_correct_values() -> None:
    assert texts(at_least("workers", 1, 1)) == []
    assert texts(one_of("kind", "a", ["a", "b"])) == []
    assert texts(matches("name", "a1", "[a-z0-9]+", "letters and digits")) == []
    assert texts(instance_of("spec", 1, int)) == []
    assert texts(unknown("name", "a", ["a"])) == []


def test_rules_reject_other_values() -> None:
    assert texts(one_of("kind", "c", ["a", "b"])) == ["'kind' is 'c'; give one of a, b"]
    assert texts(matches("name", "A", "[a-z]+", "lower-case letters")) == ["'name' is 'A'; give lower-case letters"]
    assert texts(matches("name", 7, "[a-z]+", "lower-case letters")) == ["'name' is 7; give lower-case letters"]
    assert texts(instance_of("spec", ValueError(), int, str)) == ["'spec' is a ValueError; give int(...) or str(...)"]


def test_a_problem_names_a_missing_value() -> None:
    assert (
        str(Problem(path=("image",), given=MISSING, fix="give its address")) == "'image' is missing; give its address"
    )


def test_a_problem_is_shown_with_the_users_name_and_spelling() -> None:
    problem = Problem(path=("min_size",), given=5, allowed="max_size is 2", fix="lower the one or raise the other")
    assert problem.text("--min-size", "05") == (
        "'--min-size' is 05, but max_size is 2; lower the one or raise the other"
    )


def test_a_problem_moves_under_a_longer_path() -> None:
    problem = Problem(path=("min_size",), given=5, fix="lower it", related=(("max_size",),))
    moved = problem.under("node_groups", "gpu")
    assert str(moved) == "'node_groups.gpu.min_size' is 5; lower it"
    assert moved.related == (("node_groups", "gpu", "max_size"),)


def test_enforce_raises_every_problem_once() -> None:
    def positive(number: int) -> Problems:
        yield from at_least("number", number, 1)

    def even(number: int) -> Problems:
        if number % 2:
            yield Problem(path=("number",), given=number, fix="give an even one")

    enforce(2, [positive, even])
    with pytest.raises(InputError) as caught:
        enforce(-1, [positive, even, even])
    assert str(caught.value) == "'number' is -1; give 1 or more\n'number' is -1; give an even one"
    assert [problem.path for problem in caught.value.problems] == [("number",), ("number",)]


def test_enforce_collects_the_problems_of_a_derived_value() -> None:
    def derived(number: int) -> Problems:
        enforce(number, [lambda value: at_least("derived", value, 1)])
        yield from ()

    with pytest.raises(InputError) as caught:
        enforce(0, [derived, lambda value: at_least("number", value, 1)])
    assert [problem.path for problem in caught.value.problems] == [("derived",), ("number",)]
