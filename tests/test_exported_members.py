"""`__all__` of each public package is sorted and contains exactly its public names."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize("package", ["training_workloads", "training_cluster"])
def test_all_contains_the_public_names(package: str) -> None:
    module = importlib.import_module(package)
    visible = {
        name for name, value in vars(module).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert visible <= set(module.__all__)
    assert all(getattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("package", ["workloads/training_workloads", "constructs/training_cluster"])
def test_all_is_sorted(package: str, root: Path) -> None:
    text = (root / package / "__init__.pyi").read_text()
    (names,) = re.findall(r"^__all__ = \[(.*?)\]", text, flags=re.M | re.S)
    exported = re.findall(r'"(\w+)"', names)
    assert exported == sorted(exported, key=lambda name: (name[0].islower(), not name.isupper(), name))
