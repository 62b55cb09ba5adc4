from pathlib import Path

import pytest

from training.records.conversion import conversion_folder
from training.runtime.errors import UserError

MADE_WITH = {"--train-shards": 8, "--resize": None, "the data": "digits"}


def enter(folder: Path, **changed: object) -> None:
    with conversion_folder.locked(folder, MADE_WITH | changed):
        pass


def message(folder: Path, **changed: object) -> str:
    with pytest.raises(UserError) as caught:
        enter(folder, **changed)
    return str(caught.value)


def test_accepts_the_same_settings(tmp_path: Path) -> None:
    enter(tmp_path)
    (tmp_path / "train-00000-of-00008").write_bytes(b"")
    enter(tmp_path)


def test_rejects_other_settings(tmp_path: Path) -> None:
    enter(tmp_path)
    assert message(tmp_path, **{"--train-shards": 16, "--resize": 256, "the data": "others"}) == (
        f"'--output-dir' is {tmp_path}, which has shards of other settings: '--resize' was not given and is 256 now; "
        "'--train-shards' was 8 and is 16 now; the data was digits and is others now; "
        "give the same settings, or another folder"
    )


def test_rejects_shards_of_another_program(tmp_path: Path) -> None:
    (tmp_path / "validation-00000-of-00128").write_bytes(b"")
    assert message(tmp_path) == (
        f"'--output-dir' is {tmp_path}, which contains validation-00000-of-00128 but no conversion.json: "
        "this program did not write the shards; give an empty folder"
    )


def test_rejects_damaged_settings(tmp_path: Path) -> None:
    (tmp_path / "conversion.json").write_text('{"--resize"')
    assert message(tmp_path).startswith(f"{tmp_path}/conversion.json is damaged (")
    (tmp_path / "conversion.json").write_text("[1]")
    assert message(tmp_path).endswith("; empty the folder, or give another '--output-dir'")


def test_rejects_two_runs_at_the_same_time(tmp_path: Path) -> None:
    with conversion_folder.locked(tmp_path, MADE_WITH):
        assert message(tmp_path) == (
            f"'--output-dir' is {tmp_path}, where another run is writing; wait for it, or give another folder"
        )
    enter(tmp_path)


def test_deletes_the_incomplete_shards_of_a_killed_run(tmp_path: Path) -> None:
    names = [".train-00000-of-00008.partial", ".validation-00000-of-00001.idx.partial", "other.partial"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    enter(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conversion.json", "other.partial"]


def test_writes_the_synsets(tmp_path: Path) -> None:
    conversion_folder.write_synsets(tmp_path, ["n01440764", "n01443537"])
    assert (tmp_path / "synsets.txt").read_text() == "n01440764\nn01443537\n"
