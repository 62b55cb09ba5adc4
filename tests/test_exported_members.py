"""`__all__` of each public package is sorted and contains exactly its public names."""

import importlib
from types import ModuleType

import pytest


@pytest.mark.parametrize("package", ["training_workloads", "training_cluster"])
def test_all_contains_the_public_names(package: str) -> None:
    module = importlib.import_module(package)
    visible = {
        name for name, value in vars(module).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(module.__all__) == visible
    assert module.__all__ == sorted(module.__all__, key=lambda name: (name[0].islower(), not name.isupper(), name))
