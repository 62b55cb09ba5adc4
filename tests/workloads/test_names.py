from collections.abc import Callable
from typing import Any

import pytest

from training_workloads.names import (
    annotations,
    dns_1035_label,
    dns_label,
    dns_subdomain,
    image_fix,
    label_key,
    labels,
    leaves_room,
)
from training_workloads.validation import Problems


@pytest.mark.parametrize("name", ["a", "0", "team-a", "a" * 63])
def test_accepts_dns_labels(name: str) -> None:
    assert list(dns_label("namespace", name)) == []


@pytest.mark.parametrize("name", ["", "Team", "team_a", "team.a", "-a", "a-", "a" * 64, "a\n", None, 7])
def test_rejects_other_names_with_the_rule(name: object) -> None:
    (problem,) = dns_label("namespace", name)
    assert str(problem) == f"'namespace' is {name!r}; give lower-case letters, digits and '-', at most 63"


@pytest.mark.parametrize(
    ("rule", "right", "wrong", "form"),
    [
        (dns_1035_label, "a1", "1a", "lower-case letters, digits and '-', a letter first and no '-' at the end"),
        (dns_subdomain, "a.b", "a..b", "a name of lower-case letters, digits, '-' and '.', at most 253"),
        (label_key, "topology.kubernetes.io/zone", "a/b/c", "the key of a node label, such as"),
    ],
)
def test_each_form_has_a_rule(rule: Callable[[str, Any], Problems], right: str, wrong: str, form: str) -> None:
    assert list(rule("name", right)) == []
    (problem,) = rule("name", wrong)
    assert problem.fix.startswith(f"give {form}")


@pytest.mark.parametrize("value", [{}, {"a": ""}, {"example.com/a_b.c": "A-1_b.C"}, {"a" * 63: "b" * 63}])
def test_accepts_labels(value: dict[str, str]) -> None:
    assert list(labels("labels", value)) == list(annotations("annotations", value)) == []


@pytest.mark.parametrize(
    "value",
    [{"a": "-b"}, {"a": "b."}, {"a": "b" * 64}, {"a": "é"}, {"a": "b\n"}, {"é": "b"}, {"a/b/c": "d"}, {"": "a"}],
)
def test_rejects_other_labels(value: dict[str, str]) -> None:
    (problem,) = labels("labels", value)
    assert problem.path in {("labels",), ("labels", "a")}


def test_an_annotation_is_any_text() -> None:
    assert list(annotations("annotations", {"a": "{\n}", "example.com/b": "é"})) == []


def test_the_prefix_of_an_annotation_has_letters_of_any_case() -> None:
    assert list(annotations("annotations", {"Example.COM/b": "c"})) == []
    (problem,) = annotations("annotations", {"Example..COM/b": "c"})
    assert str(problem) == "'annotations' is 'Example..COM/b'; give names such as team or example.com/team"
    assert list(labels("labels", {"Example.COM/b": "c"})) != []


def test_a_derived_name_has_room() -> None:
    assert list(leaves_room("name", "a" * 61, "-0", "Kubernetes")) == []
    (problem,) = leaves_room("name", "a" * 62, "-0", "Kubernetes")
    assert str(problem).endswith(
        ", but Kubernetes names pods '<name>-0', of at most 63 characters; use a name of 61 characters or fewer"
    )


DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    "image",
    [
        "image",
        "image:1",
        "team/some__image:Tag_1.x-y",
        "localhost/training:latest",
        "localhost:5000/training",
        "[::1]:5000/training",
        "Registry.example.com/a/b-c.d:1",
        "111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
        f"image@{DIGEST}",
        f"registry:443/image:1@{DIGEST}",
    ],
)
def test_accepts_what_nodes_can_pull(image: str) -> None:
    assert image_fix(image) == ""


@pytest.mark.parametrize(
    ("image", "fix"),
    [
        ("https://registry/image", "omit 'https://'"),
        ("docker://image:1", "omit 'docker://'"),
        ("registry/Image:1", "write the repository in lower case"),
        (" image", "remove the blank"),
        ("registry/image: 1", "remove the blank"),
        *(
            (image, "give the image's address, such as <repository>:<tag>")
            for image in (
                *("", "image\n", "image:", "image@", "image:1:2", "/image", "image/", "a//b", "a..b", "-a"),
                *("<repository>:<tag>", "$IMAGE", f"image:{'1' * 129}", "image@sha256:0", f"{DIGEST[7:]}@{DIGEST}x", 5),
            )
        ),
    ],
)
def test_rejects_what_no_node_can_pull(image: object, fix: str) -> None:
    assert image_fix(image) == fix
