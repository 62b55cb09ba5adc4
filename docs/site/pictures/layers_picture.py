"""The packages and their layers, from the layers of setup/layers.py and from the imports."""

from itertools import pairwise

from setup.layers import LAYERS
from setup.source_tree import imported_modules, imported_names, modules

__all__ = ["layers_picture"]

#: Fill and border of each package, before those that it imports.
COLORS = {
    "training_cluster": ("#eef6ee", "#6aa271"),
    "training_workloads": ("#efe8f8", "#8561b5"),
    "training": ("#fbe0c3", "#c96f12"),
}

#: Libraries that decide where a package can run.
LIBRARIES = {"aws_cdk": "AWS CDK", "cdk8s": "cdk8s", "tensorflow": "TensorFlow", "horovod": "Horovod"}


def layers_picture() -> str:
    """Return the picture of the packages in Graphviz's language, the highest layer on top.

    Raises:
        ValueError: There is another package with layers: give it a color.
    """
    if missing := set(LAYERS) ^ set(COLORS):
        raise ValueError(f"COLORS and LAYERS of setup/layers.py differ in {', '.join(sorted(missing))}")
    arrows = [
        f"{start} -> {end} [style={'solid' if _imports(start, end) else 'invis'}]"
        for start, end in pairwise(["stacks", *COLORS])
    ]
    return "\n".join(
        [
            'digraph "The packages and their layers: a layer imports those below it" {',
            "rankdir=LR",
            "stacks [label=<<B>app.py</B><BR/>stacks/>]",
            *map(_package, COLORS),
            *arrows,
            "}",
        ]
    )


def _package(package: str) -> str:
    """Return a box with a frame for each layer."""
    fill, border = COLORS[package]
    shown = [sorted(part for part in layer if not part.startswith("__")) for layer in reversed(LAYERS[package])]
    frame = f'<TR><TD BORDER="1" COLOR="{border}" BGCOLOR="#ffffff" STYLE="ROUNDED">'
    rows = [f"{frame}{_lines(parts)}</TD></TR>" for parts in shown if parts]
    used = {name.partition(".")[0] for module in _modules(package) for name in imported_names(modules()[module])}
    note = f"with {' and '.join(library for name, library in LIBRARIES.items() if name in used)}"
    head, end = (f'<TR><TD BORDER="0">{text}</TD></TR>' for text in (f"<B>{package}</B>", note))
    table = f'<TABLE BORDER="0" CELLSPACING="5" CELLPADDING="4">{head}{"".join(rows)}{end}</TABLE>'
    return f'{package} [label=<{table}>, fillcolor="{fill}", color="{border}"]'


def _lines(parts: list[str]) -> str:
    """Return the parts of a layer, two in each line."""
    return "<BR/>".join(",  ".join(parts[index : index + 2]) for index in range(0, len(parts), 2))


def _modules(package: str) -> list[str]:
    return [name for name in modules() if name == package or name.startswith(f"{package}.")]


def _imports(package: str, other: str) -> bool:
    imported = {each for name in _modules(package) for each in imported_modules(name)}
    return any(each == other or each.startswith(f"{other}.") for each in imported)
