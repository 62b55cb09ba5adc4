from pathlib import Path

import pytest

from training.coco import categories
from training.coco.categories import Category
from training.runtime.errors import UserError

ANIMALS = [Category(1, 16, "bird"), Category(2, 17, "cat"), Category(3, 25, "giraffe")]


def test_labels_follow_the_ids_without_gaps() -> None:
    assert categories.labelled([(25, "giraffe"), (16, "bird"), (17, "cat")]) == ANIMALS


def test_reads_what_it_wrote(tmp_path: Path) -> None:
    categories.write(tmp_path, ANIMALS)
    assert categories.read(tmp_path) == ANIMALS


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        categories.read(tmp_path)
    assert str(caught.value) == (
        f"'--data-dir' is {tmp_path}, which has no categories.json; convert COCO first: "
        "python -m training.coco.convert --help"
    )


@pytest.mark.parametrize("content", ["{", "[]", '{"categories": 3}', '{"categories": [{"label": 1}]}', "{}"])
def test_a_damaged_file_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "categories.json").write_text(content)
    with pytest.raises(UserError) as caught:
        categories.read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/categories.json cannot be read (")
