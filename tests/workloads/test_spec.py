"""Specs: types, defaults and rules of values, and what a user reads about a wrong one."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import pytest

from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.spec import Checked, Override, Spec, field_texts
from training_workloads.validation import InputError, Problem, Problems, at_least


def ordered(spec: "Sizes") -> Problems:
    if spec.minimum > spec.maximum:
        yield Problem(path=("minimum",), given=spec.minimum, allowed=f"maximum is {spec.maximum}", fix="lower it")


class Sizes(Spec):
    """Sizes of a group.

    Attributes:
        minimum: Smallest number of nodes,
            in any zone.
        maximum: Largest number of nodes.
    """

    rules: ClassVar[tuple[Callable[[Any], Problems], ...]] = (ordered,)

    minimum: Annotated[int, Checked(at_least, 0)] = 0
    maximum: Annotated[int, Checked(at_least, 1, 8, reason="a rack has 8 nodes")] = 1


class Group(Sizes):
    """A group.

    Attributes:
        maximum: Largest number of nodes of one rack.
        name: Name of the group.
    """

    name: str
    kind: Literal["spot", "on-demand"] = "on-demand"
    zones: tuple[str, ...] = ()
    sizes: Sizes = Sizes()
    ratio: float = 0.5
    labels: frozenset[str] = frozenset()


def problems(**values: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        Group(**values)
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "'name' is missing; add it"),
        ({"name": 3}, "'name' is 3; give text in quotes"),
        ({"name": "a", "maximun": 2}, "'maximun' is 2, but there is no such key; did you mean maximum? known: kind, "),
        ({"name": "a", "minimum": "1"}, "'minimum' is '1'; give a whole number, 0 or more"),
        ({"name": "a", "minimum": True}, "'minimum' is True; give a whole number, 0 or more"),
        ({"name": "a", "maximum": 9}, "'maximum' is 9, but a rack has 8 nodes; give 8 or less"),
        ({"name": "a", "kind": "block"}, "'kind' is 'block'; give one of spot, on-demand"),
        ({"name": "a", "zones": "b, c"}, "'zones' is 'b, c'; give a list: ['b', 'c']"),
        ({"name": "a", "sizes": {"maximum": 0}}, "'sizes.maximum' is 0; give 1 or more"),
        ({"name": "a", "minimum": 3}, "'minimum' is 3, but maximum is 1; lower it"),
        ({"name": "a", "sizes": {"minimum": 3}}, "'sizes.minimum' is 3, but maximum is 1; lower it"),
        ({"name": "a", "sizes": {1: 3}}, "'sizes.1' is 3, but there is no such key; known: maximum, minimum"),
        ({"name": "a", "sizes": 3}, "'sizes' is 3; give a Sizes, or its keys"),
        ({"name": "a", "ratio": float("inf")}, "'ratio' is inf; give a number"),
        ({"name": "a", "labels": ["b"]}, "'labels' is ['b']; give a frozenset"),
        (
            {"name": "a", "maximum": "${Token[TOKEN.1]}"},
            "'maximum' is a value that only the deployment knows, but the synthesis must know it; give a whole number",
        ),
    ],
)
def test_a_wrong_value_is_one_problem(values: dict[str, Any], expected: str) -> None:
    (found,) = problems(**values)
    assert found.startswith(expected)


def test_all_wrong_values_are_reported_at_once_and_before_rules() -> None:
    assert problems(minimum=9, maximum=0) == ["'maximum' is 0; give 1 or more", "'name' is missing; add it"]


def test_a_rule_says_what_to_give_for_a_missing_value() -> None:
    with pytest.raises(InputError, match=r"^'image' is missing; give the image's address"):
        HorovodJobSpec(name="a", instance_type="p4d.24xlarge", command=("a",), workers=1)  # type: ignore[call-arg]


def test_none_stands_for_the_default_and_a_list_for_a_tuple() -> None:
    group = Group(name="a", maximum=None, zones=["b"])  # type: ignore[arg-type]
    assert (group.maximum, group.zones, group.given()) == (1, ("b",), {"name": "a", "zones": ("b",)})


def test_the_field_decides_the_type_of_an_option() -> None:
    group = Group(name=Override("1.34"), maximum=Override("4"))  # type: ignore[arg-type]
    assert (group.name, group.maximum) == ("1.34", 4)


def test_a_replaced_value_is_validated() -> None:
    assert Group(name="a", maximum=4).replaced(minimum=2) == Group(name="a", minimum=2, maximum=4)
    with pytest.raises(InputError, match="'minimum' is 5, but maximum is 4; lower it"):
        Group(name="a", maximum=4).replaced(minimum=5)


def test_a_field_has_the_text_of_the_class_that_documents_it_last() -> None:
    assert field_texts(Group) == {
        "minimum": "Smallest number of nodes, in any zone.",
        "maximum": "Largest number of nodes of one rack.",
        "name": "Name of the group.",
    }


def test_equal_values_are_equal_whatever_was_derived_from_them(job_spec: HorovodJobSpec) -> None:
    # The pods of a job refer to the job.
    assert job_spec.pods is not None
    assert job_spec == job_spec.replaced() != job_spec.replaced(workers=3)
    assert Sizes() != Group(name="a")


def test_a_copy_is_validated_and_derives_anew(job_spec: HorovodJobSpec) -> None:
    copied = job_spec.model_copy(update={"workers": 3})
    assert (copied.world_size, copied.pods.workers) == (24, 3)
    with pytest.raises(InputError, match="'workers' is 0; give 1 or more"):
        job_spec.model_copy(update={"workers": 0})


def test_a_field_does_not_change() -> None:
    with pytest.raises(AttributeError, match=r"'maximum' of a Sizes does not change; give another Sizes: \.replaced"):
        Sizes().maximum = 3
