from pathlib import Path

import yaml

from scan.rendered import render_everything
from training_workloads.platform.platform_spec import PLATFORM_FILES
from training_workloads.recipes import RECIPES


def test_renders_every_recipe_and_every_part(tmp_path: Path) -> None:
    paths = render_everything(tmp_path)
    assert {path.name for path in paths} == {f"{name}.k8s.yaml" for name in RECIPES} | set(PLATFORM_FILES)
    assert all(list(yaml.safe_load_all(path.read_text())) for path in paths)
