import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from pycocotools.coco import COCO

from training.coco import drawn_images, shapes
from training.coco.annotations import parse
from training.coco.padded_shapes import PaddedShapes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    shapes.run(shapes.Settings(output_dir=folder, images=64, seed=3))
    return folder


def test_the_same_seed_makes_the_same_files(made: Path, tmp_path: Path) -> None:
    shapes.run(shapes.Settings(output_dir=tmp_path, images=64, seed=3))
    paths = [path.relative_to(made) for path in made.rglob("*.*")]
    assert len(paths) == 64 + 16 + 2
    assert [path for path in paths if (tmp_path / path).read_bytes() != (made / path).read_bytes()] == []


def test_another_seed_and_another_split_make_other_images() -> None:
    first = [drawn_images.draw(*key).pixels for key in ((0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2))]
    assert len({each.tobytes() for each in first}) == 4


def test_the_converter_finds_nothing_to_report(made: Path) -> None:
    for split in ("train2017", "val2017"):
        found = parse((made / f"annotations/instances_{split}.json").read_bytes(), split)
        assert found.problems == found.without_area == []


def test_has_polygons_runs_crowds_and_images_without_objects(made: Path) -> None:
    data = json.loads((made / "annotations/instances_train2017.json").read_bytes())
    kinds = {(each["iscrowd"], type(each["segmentation"])) for each in data["annotations"]}
    assert kinds == {(0, list), (0, dict), (1, dict)}
    assert {each["category_id"] for each in data["annotations"]} == {1, 2, 3, 5}
    with_objects = {each["image_id"] for each in data["annotations"]}
    assert 0 < len(data["images"]) - len(with_objects) < 20
    sizes = np.array([[each["height"], each["width"]] for each in data["images"]])
    assert (sizes.min(), sizes.max()) == (120, 220)
    # Each bucket of a short side of 128.
    assert set(PaddedShapes(128, 213).buckets(sizes)) == {0, 1, 2, 3}


def test_masks_are_exactly_the_drawn_pixels(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = COCO(made / "annotations/instances_train2017.json")
    capsys.readouterr()
    for number in (each["image_id"] for each in truth.anns.values() if not each["iscrowd"]):
        pixels = drawn_images.draw(3, 0, number - 1).pixels
        for each in truth.imgToAnns[number]:
            colors = np.unique(pixels[truth.annToMask(each) == 1], axis=0)
            # A crowd has a colour for each of its shapes, and a shape has one.
            assert len(colors) <= 8 if each["iscrowd"] else len(colors) == 1
            assert each["area"] == truth.annToMask(each).sum()


def test_the_jpegs_have_their_sizes(made: Path) -> None:
    data = json.loads((made / "annotations/instances_val2017.json").read_bytes())
    for image in data["images"]:
        pixels = tf.io.decode_jpeg((made / "val2017" / image["file_name"]).read_bytes())
        assert pixels.shape == (image["height"], image["width"], 3)


def test_rejects_a_folder_with_other_images(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shapes.main(["--output-dir", str(made), "--images", "63"]) == 2
    assert capsys.readouterr().err == (
        f"error: '--output-dir' is {made}, where train2017 has 000000000064.jpg; give another folder\n"
    )
