"""The packages and their layers, from the layers of setup/layers.py and from the imports."""

from itertools import pairwise

from docs.site.pictures.drawing import Arrow, Box, Column, Picture
from setup.layers import LAYERS
from setup.source_tree import imported_modules, imported_names, modules

__all__ = ["layers_picture"]

#: The packages with their colors, each before those that it imports.
COLORS = {"training_cluster": "network", "training_workloads": "control", "training": "gpu"}

#: Libraries that decide where a package can run.
LIBRARIES = {"aws_cdk": "AWS CDK", "cdk8s": "cdk8s", "tensorflow": "TensorFlow", "horovod": "Horovod"}


def layers_picture() -> Picture:
    """Return the picture of the packages, the highest layer on top.

    Raises:
        ValueError: There is another package with layers: give it a color.
    """
    if missing := set(LAYERS) ^ set(COLORS):
        raise ValueError(f"COLORS and LAYERS of setup/layers.py differ in {', '.join(sorted(missing))}")
    columns = tuple(_column(package) for package in COLORS)
    app = Box(id="stacks", title="app.py", lines=("stacks/",))
    names = ["stacks", *COLORS]
    arrows = [Arrow(start=start, end=end, hidden=not _imports(start, end)) for start, end in pairwise(names)]
    title = "The packages and their layers: a layer imports those below it"
    return Picture(title=title, children=(app, *columns), arrows=tuple(arrows), direction="LR")


def _column(package: str) -> Column:
    shown = [sorted(part for part in layer if not part.startswith("__")) for layer in reversed(LAYERS[package])]
    rows = tuple(_lines(parts) for parts in shown if parts)
    used = {name.partition(".")[0] for module in _modules(package) for name in imported_names(modules()[module])}
    libraries = [library for name, library in LIBRARIES.items() if name in used]
    note = f"with {' and '.join(libraries)}"
    return Column(id=package, title=package, rows=rows, note=note, color=COLORS[package])


def _lines(parts: list[str]) -> tuple[str, ...]:
    """Return the parts of a layer, two in each line."""
    return tuple(",  ".join(parts[index : index + 2]) for index in range(0, len(parts), 2))


def _modules(package: str) -> list[str]:
    return [name for name in modules() if name == package or name.startswith(f"{package}.")]


def _imports(package: str, other: str) -> bool:
    imported = {each for name in _modules(package) for each in imported_modules(name)}
    return any(each == other or each.startswith(f"{other}.") for each in imported)
