import pytest

from training_workloads.validation import InputError, check_at_least, enforce, known_names, unknown_name


def test_an_unknown_name_is_answered_with_the_closest() -> None:
    error = unknown_name("instance_type", "p4d.24xlage", ["p4d.24xlarge", "c5.large"])
    assert str(error) == (
        "'instance_type' is 'p4d.24xlage', which is not known; did you mean p4d.24xlarge? known: c5.large, p4d.24xlarge"
    )


def test_a_name_like_no_other_is_answered_with_all_that_are_known() -> None:
    assert str(unknown_name("recipe", "zzz", ["b", "a"])) == "'recipe' is 'zzz', which is not known; known: a, b"


def test_a_long_list_is_left_out_where_a_name_is_close() -> None:
    names = [f"p{number}.xlarge" for number in range(11)]
    message = str(unknown_name("instance_type", "p10.xlage", names))
    assert "did you mean p10.xlarge or " in message
    assert "known:" not in message
    assert "known: p0.xlarge, " in str(unknown_name("instance_type", "gpu", names))


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
    told = f"did you mean {meant}? " if meant != "none" else ""
    assert known_names(value, names) == f"{told}known: p5.48xlarge, p5.4xlarge, p5e.48xlarge"


def test_a_number_below_its_minimum_is_refused() -> None:
    check_at_least("workers", 1, 1)
    with pytest.raises(InputError, match=r"^'workers' is 0; give 1 or more$"):
        check_at_least("workers", 0, 1)


def test_every_broken_rule_is_reported_at_once() -> None:
    def positive(number: int) -> None:
        check_at_least("number", number, 1)

    def even(number: int) -> None:
        if number % 2:
            raise InputError(f"'number' is {number}; give an even one")

    enforce(2, [positive, even])
    with pytest.raises(InputError) as caught:
        enforce(-1, [positive, even, even])
    assert str(caught.value) == "'number' is -1; give 1 or more\n'number' is -1; give an even one"
    assert len(caught.value.args) == 2
