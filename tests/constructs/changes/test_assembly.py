"""A folder given to `trainctl cluster plan --app` that no synthesis has written is one line, and no traceback."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.changes.assembly import app_stacks
from training_cluster.changes.look_ups import look_up
from training_workloads.validation import InputError

STACK = "aws:cloudformation:stack"
ANY = "aws://unknown-account/unknown-region"
PROPERTIES = {"templateFile": "a.json"}


def manifest(**artifact: Any) -> Any:
    return {"artifacts": {"A": {"type": STACK, "environment": ANY, "properties": PROPERTIES, **artifact}}}


def read(folder: Path, found: Any, template: Any = None) -> list[str]:
    files = {"manifest.json": found, "a.json": {"Resources": {}} if template is None else template}
    for name, content in files.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name).write_bytes(data)
    account = StubbedAccount()
    account.answer_identity()
    return [each.name for each in app_stacks(folder, {}, account, ".")]


def with_manifest(value: Any) -> Any:
    return {"Resources": {"A": {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": value}}}}


DEEP = b"[" * 200_000 + b"]" * 200_000


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], "it has no mapping 'artifacts'"),
        ({}, "it has no mapping 'artifacts'"),
        ({"artifacts": []}, "it has no mapping 'artifacts'"),
        (manifest(environment=None), "it has no text 'environment'"),
        (manifest(environment="us-east-1"), "the environment of A is 'us-east-1', not aws://<account>/<region>"),
        (manifest(environment="aws://a/b/c"), "the environment of A is 'aws://a/b/c', not aws://"),
        (manifest(properties=None), "it has no mapping 'properties'"),
        (manifest(properties={}), "it has no text 'templateFile'"),
        (manifest(properties={"templateFile": 3}), "it has no text 'templateFile'"),
        (manifest(properties={"templateFile": "none.json"}), "none.json cannot be read: "),
        (manifest(properties={**PROPERTIES, "stackName": 3}), "it has no text 'stackName'"),
        (manifest(type="cdk:cloud-assembly", properties={"directoryName": 3}), "it has no text 'directoryName'"),
        (manifest(type="cdk:cloud-assembly", properties={"directoryName": "."}), "the stage A is the folder itself"),
        (manifest(type="cdk:cloud-assembly", properties={"directoryName": "none"}), "it has no manifest.json"),
        (b"\xff\xfe{}", "manifest.json cannot be read: "),
        (b"{", "manifest.json cannot be read: "),
        (DEEP, "manifest.json cannot be read: its values are too deep"),
    ],
)
def test_a_manifest_that_no_synthesis_writes(found: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, found)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ([], "it is no mapping, as a template is"),
        ({"Resources": []}, "it has no mapping 'Resources'"),
        ({"Outputs": {"A": "b"}}, "Outputs/A is no mapping"),
        ({"Resources": {"A": []}}, "Resources/A is no mapping"),
        ({"Resources": {"A": {"Properties": {}}}}, "it has no text 'Type'"),
        ({"Resources": {"A": {"Type": "T"}}}, "the type of the resource A is 'T'"),
        ({"Conditions": []}, "it has no mapping 'Conditions'"),
        (
            {"Resources": {"A": {"Type": "A::B::C", "Properties": {"B": [{"Ref": {}}]}}}},
            "a Ref in the resource A is no text",
        ),
        (with_manifest("{"), "the 'Manifest' of the resource A cannot be read: Expecting property name"),
        (with_manifest("{}"), "the 'Manifest' of the resource A cannot be read: it is no list of objects"),
        (with_manifest({"Fn::Join": 3}), "the 'Manifest' of the resource A cannot be read: it is no text"),
        (with_manifest(DEEP.decode()), "the 'Manifest' of the resource A cannot be read: "),
        (
            {"Resources": {"A": {"Type": "A::B::C", "Properties": []}}},
            "the 'Properties' of the resource A are no mapping",
        ),
        (b"\xff", "a.json cannot be read: "),
        (DEEP, "a.json cannot be read: its values are too deep"),
    ],
)
def test_a_template_that_no_synthesis_writes(template: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, manifest(), template)
    assert words in str(error.value)


def test_a_template_without_resources_and_artifacts_of_other_types_are_read(tmp_path: Path) -> None:
    found = manifest()
    found["artifacts"] |= {"Tree": {"type": "cdk:tree"}, "Odd": []}
    assert read(tmp_path, found, {"Outputs": {}}) == ["A"]


def test_look_ups_that_no_synthesis_writes_are_skipped() -> None:
    account = StubbedAccount()
    account.answer_identity()
    here = {"account": "111122223333", "region": "us-west-2", "parameterName": "/ami"}
    good = {"key": "K", "provider": "ssm", "props": here}
    odd: list[Any] = [
        None,
        [],
        {},
        {**good, "props": []},
        {**good, "key": 3},
        {**good, "props": {**here, "parameterName": []}},
    ]
    manifests: list[Any] = [None, [], {"missing": 3}, {"missing": odd}]
    assert [look_up(account, each) for each in manifests] == [{}] * 4
    other = {**good, "props": {**here, "region": "us-east-1"}}
    account.answer_parameter("/ami", "1.35.0-20260917")
    assert look_up(account, {"missing": [other, good]}) == {"K": "1.35.0-20260917"}
