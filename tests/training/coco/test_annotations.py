import json
from typing import Any

import pytest

from tests.training.coco.coco_data import annotation, instances
from training.coco.annotations import Annotations, parse
from training.coco.categories import Category
from training.runtime.errors import UserError


def parsed(data: Any) -> Annotations:
    return parse(json.dumps(data).encode(), "a.json")


def with_object(**changed: Any) -> Annotations:
    data = instances(11, 3)
    data["annotations"] = [annotation(7, 11, **changed)]
    return parsed(data)


def test_labels_have_no_gaps_and_follow_the_ids() -> None:
    assert parsed(instances(11, 3)).categories == [Category(1, 1, "person"), Category(2, 3, "car")]


def test_objects_are_with_their_images() -> None:
    found = parsed(instances(11, 3))
    assert {number: len(image.objects) for number, image in found.images.items()} == {11: 2, 12: 0, 13: 1}
    crowd, person = found.images[11].objects
    assert (crowd.is_crowd, crowd.label, crowd.box) == (True, 2, (0.0, 10.0, 40.0, 20.0))
    assert (person.is_crowd, person.label, person.box) == (False, 1, (10.0, 5.0, 30.0, 25.0))
    assert found.problems == found.without_area == []


def test_a_box_is_cut_at_the_image() -> None:
    cut = with_object(bbox=[-2.5, 30, 20, 10.01])
    assert cut.images[11].objects[0].box == (30.0, 0.0, 40.0, 17.5)
    assert cut.cut == ["a.json: annotation 7 of image 11 has a box that ends outside the image"]
    # As COCO's do.
    assert with_object(bbox=[5, 30, 20, 10.01]).cut == []


@pytest.mark.parametrize("bbox", [[5, 10, 0, 20], [5, 10, 20, 0.0], [5, 10, -1, 20]])
def test_an_object_whose_box_has_no_area_is_left_out(bbox: list[float]) -> None:
    found = with_object(bbox=bbox)
    assert found.images[11].objects == []
    assert found.problems == []
    assert found.without_area == ["a.json: annotation 7 of image 11 has a box without an area"]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"image_id": 99}, "is of image 99, which is not among the images"),
        ({"image_id": [1]}, "is of image [1], which is not among the images"),
        ({"image_id": "11"}, "is of image '11', which is not among the images"),
        ({"area": 10**400}, f"has the area {10**400}; it takes a number of pixels"),
        ({"bbox": [60, 10, 5, 5]}, "has the box [60, 10, 5, 5], outside its image of 60 x 40 pixels"),
        ({"bbox": [5, -9, 5, 5]}, "has the box [5, -9, 5, 5], outside its image of 60 x 40 pixels"),
        ({"bbox": [5, 10, 5]}, "has the box [5, 10, 5]; it takes four numbers: x, y, width, height"),
        ({"bbox": [5, 10, 5, "5"]}, "has the box [5, 10, 5, '5']; it takes four numbers: x, y, width, height"),
        ({"category_id": 2}, "has the category 2, which is not among the categories"),
        ({"category_id": None}, "has the category None, which is not among the categories"),
        ({"area": None}, "has the area None; it takes a number of pixels"),
        ({"iscrowd": 2}, "has the value 2 for iscrowd; it takes 0 or 1"),
        ({"segmentation": [[]]}, "has a polygon of 0 numbers; it takes x and y of three points or more"),
        (
            {"segmentation": {"size": [60, 40], "counts": [2400]}},
            "has an RLE of the size [60, 40], but the image's is [40, 60]",
        ),
    ],
)
def test_reports_a_damaged_object_and_keeps_its_image(changed: dict[str, Any], problem: str) -> None:
    found = with_object(**changed)
    assert found.problems == [f"a.json: annotation 7 {problem}"]
    assert sorted(found.images) == [11, 12, 13]
    assert not any(image.objects for image in found.images.values())


def test_reports_ids_that_occur_twice() -> None:
    data = instances(11, 3)
    data["annotations"] = [annotation(7, 11), annotation(7, 12), annotation(0, 12), 5]
    data["images"].append(data["images"][0])
    found = parsed(data)
    assert found.problems == [
        "a.json: image 11 occurs twice",
        "a.json: annotation 7 occurs twice",
        "a.json: annotation 0 has no id; it takes a whole number, 1 or more",
        "a.json: annotation 5 has no id; it takes a whole number, 1 or more",
    ]
    assert [len(image.objects) for image in found.images.values()] == [1, 0, 0]


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (3, "the image 3 has no id"),
        ({"id": 5, "file_name": "a/b.jpg", "height": 1, "width": 1}, "image 5 has the file name 'a/b.jpg'; it takes "),
        ({"id": 5, "file_name": "b.jpg", "height": 0, "width": 1}, "image 5 has the height and width (0, 1)"),
    ],
)
def test_reports_a_damaged_image(image: Any, problem: str) -> None:
    (found,) = parsed({**instances(11, 3), "images": [image], "annotations": []}).problems
    assert found.startswith(f"a.json: {problem}")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"{", "a.json is not JSON (Expecting property name"),
        (b"\xff\xfe", "a.json is not JSON ("),
        (b"[" * 100_000, "a.json is not JSON ("),
        (b"[]", "a.json has no lists images, annotations, categories; give the file instances_*.json of the objects"),
        (b'{"images": [], "annotations": []}', "a.json has no lists categories; give"),
    ],
)
def test_rejects_another_file(content: bytes, error: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(content, "a.json")
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("categories", "error"),
    [
        ([], "a.json needs categories, each with a whole number as id and a name; fix it"),
        ([{"id": "1", "name": "a"}], "a.json needs categories, each with a whole number as id and a name; fix it"),
        ([{"id": 1}], "a.json has a category without an id or a name; download the file again"),
        (
            [{"id": 0, "name": "a"}, {"id": 0, "name": "b"}],
            "a.json has two categories 0; give each another id and another name",
        ),
        (
            [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}],
            "a.json has two categories 'a'; give each another id and another name",
        ),
    ],
)
def test_rejects_other_categories(categories: list[Any], error: str) -> None:
    with pytest.raises(UserError) as caught:
        parsed({**instances(11, 3), "categories": categories})
    assert str(caught.value) == error
