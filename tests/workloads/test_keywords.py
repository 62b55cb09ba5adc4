"""Keywords that are the fields of a spec."""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from training_workloads.keywords import keywords_of
from training_workloads.spec import Spec
from training_workloads.validation import InputError

# A construct of the CDK or of cdk8s, which this package does not import.
APP = SimpleNamespace(node=SimpleNamespace(path="", try_find_child={"taken": "a construct"}.get))
APP.node.scopes = [APP]


class Nodes(Spec):
    """Nodes of a group.

    Attributes:
        instance_type: EC2 type of the nodes.
        size: Number of nodes.
    """

    instance_type: str
    size: int = 1


class Group:
    """A group in a scope."""

    @keywords_of(Nodes)
    def __init__(self, scope: SimpleNamespace, id: str, props: Nodes) -> None:
        """Define the group."""
        self.scope, self.id, self.props = scope, id, props


class Cluster:
    """A cluster of groups."""

    @keywords_of(Nodes)
    def add_group(self, id: str, props: Nodes) -> Group:
        """Add a group.

        Args:
            id: Id of the group.

        Raises:
            InputError: A value is wrong.
        """
        return Group(APP, id, **props.given())


def test_the_fields_are_keywords() -> None:
    group = Cluster().add_group("gpu", instance_type="p4d.24xlarge", size=4)
    assert (group.scope, group.id) == (APP, "gpu")
    assert group.props == Nodes(instance_type="p4d.24xlarge", size=4)


def test_scope_and_id_can_be_named() -> None:
    # A type checker knows them as positional only.
    group = Group(scope=APP, id="gpu", instance_type="p4d.24xlarge")  # type: ignore[call-arg]
    assert (group.scope, group.id) == (APP, "gpu")


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("taken", "'id' is 'taken', but the scope has a construct of this id; give another id"),
        ("", "'id' is ''; give text, which is the construct's name in its scope"),
    ],
)
def test_an_id_is_a_name_that_the_scope_does_not_have(id: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Group(APP, id, instance_type="p4d.24xlarge")
    assert str(caught.value) == message


def test_a_scope_without_a_node_is_a_mistake() -> None:
    with pytest.raises(InputError, match=r"'scope' is 'app'; give a stack, or a construct in one"):
        Group("app", "gpu", instance_type="p4d.24xlarge")  # type: ignore[arg-type]


def test_a_misspelled_keyword_is_answered_with_the_close_one() -> None:
    with pytest.raises(InputError, match=r"'sise' is 4, but there is no such key; did you mean size\?"):
        Cluster().add_group("gpu", instance_type="p4d.24xlarge", sise=4)  # type: ignore[call-arg]


def test_the_signature_has_types_and_defaults() -> None:
    shown = str(inspect.signature(Group.__init__))
    assert shown == "(self, scope: types.SimpleNamespace, id: str, *, instance_type: str, size: int = 1) -> None"


def test_the_docstring_has_the_texts_of_the_fields() -> None:
    assert inspect.getdoc(Cluster.add_group) == (
        "Add a group.\n\n"
        "Args:\n"
        "    id: Id of the group.\n"
        "    instance_type: EC2 type of the nodes.\n"
        "    size: Number of nodes.\n\n"
        "Raises:\n"
        "    InputError: A value is wrong."
    )
    assert inspect.getdoc(Group.__init__) == (
        "Define the group.\n\nArgs:\n    instance_type: EC2 type of the nodes.\n    size: Number of nodes."
    )


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((APP, "gpu", "p4d.24xlarge"), {}, "takes 3 positional arguments but 4 were given; give the others"),
        ((APP, "gpu"), {"id": "other", "instance_type": "p4d.24xlarge"}, "multiple values for argument 'id'"),
        ((APP,), {}, "is missing the argument 'id'"),
    ],
)
def test_positional_arguments_are_those_of_the_method(given: Any, named: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Group(*given, **named)
