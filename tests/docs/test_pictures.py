import pytest

from docs.site.pictures.cluster_picture import cluster_picture
from docs.site.pictures.drawing import Arrow, Box, Group, Picture
from docs.site.pictures.layers_picture import layers_picture
from docs.site.pictures.template import Template, deployments
from setup.layers import LAYERS


def test_a_new_type_of_resource_must_get_a_place() -> None:
    template = Template({"Resources": {"New": {"Type": "AWS::New::Thing"}}})
    with pytest.raises(ValueError, match="AWS::New::Thing"):
        cluster_picture(template, template)


def test_the_layers_are_those_of_the_rules() -> None:
    dot = layers_picture().dot()
    parts = {part for layers in LAYERS.values() for layer in layers for part in layer if not part.startswith("__")}
    assert [part for part in parts if part not in dot] == []


def test_a_stack_of_packages_imports_downwards_only() -> None:
    shown = [(arrow.start, arrow.end) for arrow in layers_picture().arrows if not arrow.hidden]
    assert shown == [("stacks", "training_cluster"), ("training_cluster", "training_workloads")]


def test_text_is_escaped() -> None:
    dot = Picture(title="", children=(Box(id="a", title="<b> & co"),)).dot()
    assert "&lt;b&gt; &amp; co" in dot


def test_groups_hold_their_boxes_and_arrows_come_last() -> None:
    group = Group(id="g", title="frame", children=(Box(id="a", title="A"), Box(id="b", title="B")))
    lines = Picture(title="", children=(group,), arrows=(Arrow(start="a", end="b", heads="both"),)).dot().splitlines()
    frame = lines.index('subgraph "cluster_g" {')
    assert lines[-3:] == ["}", '"a" -> "b" [dir=both]', "}"]
    assert [line.split()[0] for line in lines[frame:] if line.startswith('"')] == ['"a"', '"b"', '"a"']


def test_finds_deployments_in_a_manifest_with_references() -> None:
    text = (
        '[{"kind":"Service","metadata":{"name":"s"}},{"kind":"Deployment","metadata":{"labels":{},"name":"operator"}}]'
    )
    assert deployments(text) == ["operator"]
    assert deployments({"Fn::Join": ["", [text, {"Ref": "Cluster"}]]}) == ["operator"]
