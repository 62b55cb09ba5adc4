import re
from pathlib import Path

import pytest

from training_workloads.catalog.images import BASE_IMAGES, IMAGES, Image

each_image = pytest.mark.parametrize("image", IMAGES, ids=str)


@each_image
def test_an_image_has_a_digest_or_a_reason(image: Image) -> None:
    assert (image.digest is None) == (image.unknown is not None)
    if image.digest:
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", image.digest)
    assert image.source.startswith("https://")


def test_an_image_is_named_with_its_tag_and_digest() -> None:
    image = Image(name="a/b", tag="v1", digest="sha256:b1", source="")
    assert str(image) == "a/b:v1@sha256:b1"
    assert image.version == "v1@sha256:b1"
    assert str(Image(name="a/b", tag="v1", source="", unknown="unread")) == "a/b:v1"


def test_the_dockerfiles_start_from_the_base_images(root: Path) -> None:
    files = ("Dockerfile", "torch.Dockerfile", "cuda/base.Dockerfile")
    found = {
        name
        for file in files
        for name in re.findall(r"^ARG BASE_IMAGE=(.+)$", (root / "training" / file).read_text(), flags=re.M)
    }
    assert found == {str(image) for image in BASE_IMAGES}


def test_the_page_names_every_image_without_a_digest(root: Path) -> None:
    page = (root / "docs/security.md").read_text()
    section = page[page.index("## Images and charts") :]
    for image in IMAGES:
        assert (f"`{image.name}:{image.tag}`" in section) == (image.digest is None), str(image)
