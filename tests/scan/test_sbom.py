import json
import re
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.model.bom import Bom
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scan import sbom
from scan.sbom import IMAGES, apt_packages, image, wheel


def components(bom: Bom) -> dict[str, Any]:
    """Return the components of the written file by their names, once it is valid."""
    text = JsonV1Dot6(bom).output_as_string()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    written = json.loads(text)
    assert {each["ref"] for each in written["dependencies"]} >= {each["bom-ref"] for each in written["components"]}
    return {each["name"]: each for each in written["components"]}


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_has_its_base_and_the_packages_of_its_locks(name: str) -> None:
    found = components(image(name, {}))
    bases = [each for each in found.values() if each["type"] == "container"]
    assert len(bases) == 1
    packages = [each for each in found.values() if each.get("purl", "").startswith("pkg:pypi/")]
    assert packages
    for each in packages:
        (files,) = each["externalReferences"]
        assert files["hashes"], each["name"]


def test_the_training_image_has_what_its_dockerfile_installs() -> None:
    found = components(image("training", {}))
    assert found["nvidia/cuda"]["version"] == "12.2.2-cudnn8-devel-ubuntu22.04"
    assert found["horovod"]["purl"] == "pkg:pypi/horovod@0.28.1"
    assert found["openssh-server"]["purl"] == "pkg:deb/debian/openssh-server"
    assert found["python-build-standalone"]["version"] == "3.11.18"
    # Tools of the build, and what is not downloaded without its version.
    assert not {"cmake", "ninja", "uv", "build-essential", "aws-efa-installer", "curl"} & found.keys()


def test_what_the_build_arguments_add() -> None:
    arguments = {
        "BASE_IMAGE": "localhost/cuda-base",
        "EFA_INSTALLER_VERSION": "1.45.0",
        "EFA_INSTALLER_SHA256": "ab" * 32,
    }
    found = components(image("training", arguments))
    assert found["aws-efa-installer"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert "curl" in found
    assert found["localhost/cuda-base"]["type"] == "container"


def test_the_base_has_its_digest() -> None:
    base = components(image("training-torch", {}))["debian"]
    assert base["version"].startswith("sha256:2c037a04")
    assert base["purl"].endswith("?tag=bookworm-20261005")


def test_v100_has_another_pytorch() -> None:
    assert components(image("training-torch", {}))["torch"]["version"].startswith("2.15.")
    assert components(image("training-torch-cuda12", {}))["torch"]["version"] == "2.10.0"


def test_the_wheel_has_what_it_and_its_extras_need_and_no_tools_of_the_project() -> None:
    bom = wheel()
    found = components(bom)
    assert {"aws-cdk-lib", "cdk8s", "jsii", "click", "botocore", "kubernetes-validate", "matplotlib"} <= found.keys()
    assert not {"pytest", "ruff", "mypy", "cdk-nag", "cyclonedx-python-lib"} & found.keys()
    written = json.loads(JsonV1Dot6(bom).output_as_string())
    needs = {each["ref"]: each.get("dependsOn", []) for each in written["dependencies"]}
    assert any(ref.startswith("pkg:pypi/botocore@") for ref in needs[found["boto3"]["bom-ref"]])


def test_packages_of_a_stage_that_is_not_in_the_image_are_left_out() -> None:
    dockerfile = """\
ARG BASE_IMAGE=debian
FROM ${BASE_IMAGE} AS first
RUN apt-get update && apt-get install --yes --no-install-recommends \\
        one two \\
    && true
FROM first AS builder
RUN apt-get install --yes --no-install-recommends three
FROM first
RUN if [ -n "${VERSION}" ]; then apt-get install --yes --no-install-recommends four; fi
"""
    assert apt_packages(dockerfile, {"VERSION": ""}) == ["one", "two"]
    assert apt_packages(dockerfile, {"VERSION": "1"}) == ["four", "one", "two"]


def test_every_dockerfile_of_the_project_has_its_bill(root: Path) -> None:
    files = {path.relative_to(root).as_posix() for path in (root / "training").rglob("*Dockerfile")}
    assert files == {path for path, _ in IMAGES.values()}
    text = "".join((root / file).read_text() for file in files)
    installed = set(re.findall(r"requirements/([\w-]+)\.txt", text))
    assert installed - set(sbom._TOOLS) == {"training", "horovod", "cuda"}
