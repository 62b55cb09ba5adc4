"""Boxes in groups with arrows, drawn as SVG by Graphviz, which runs as WebAssembly in Node.js."""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from setup.source_tree import ROOT

__all__ = ["Arrow", "Box", "Column", "Group", "Picture", "draw"]

#: The name by which Graphviz knows the widths of letters, and what the picture asks for.
FONT, FAMILY = "Helvetica", "Helvetica, Arial, Liberation Sans, sans-serif"
TEXT, SOFT, LINE = "#1f2933", "#52606d", "#7b8794"

#: Fill and border of a kind of box or group.
COLORS = {
    "plain": ("#ffffff", "#7b8794"),
    "outer": ("#f5f7fa", "#9aa5b1"),
    "network": ("#eef6ee", "#6aa271"),
    "compute": ("#fdf0e1", "#d98e32"),
    "gpu": ("#fbe0c3", "#c96f12"),
    "storage": ("#e4eefb", "#4c82c3"),
    "control": ("#efe8f8", "#8561b5"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A box with a title and lines below it."""

    id: str
    title: str
    lines: tuple[str, ...] = ()
    color: str = "plain"

    def dot(self) -> str:
        """Return the node in Graphviz's language."""
        fill, border = COLORS[self.color]
        rows = [f'<FONT POINT-SIZE="16"><B>{escape(self.title)}</B></FONT>'] if self.title else []
        rows += [f'<FONT POINT-SIZE="14" COLOR="{SOFT}">{escape(line)}</FONT>' for line in self.lines]
        table = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
        label = f'<TABLE BORDER="0" CELLSPACING="0" CELLPADDING="2">{table}</TABLE>'
        return f'"{self.id}" [label=<{label}>, fillcolor="{fill}", color="{border}"]'


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A frame with a title around boxes and other groups."""

    id: str
    title: str
    children: tuple["Box | Column | Group", ...]
    color: str = "outer"
    title_below: bool = False

    def dot(self) -> str:
        """Return the cluster in Graphviz's language."""
        fill, border = COLORS[self.color]
        # A table, because Graphviz sets a plain title on the border of the frame.
        title = f'<FONT POINT-SIZE="16"><B>{escape(self.title)}</B></FONT>'
        label = f'label=<<TABLE BORDER="0" CELLPADDING="4"><TR><TD>{title}</TD></TR></TABLE>>'
        place = "b" if self.title_below else "t"
        inside = "\n".join(child.dot() for child in self.children)
        settings = [label, f"labelloc={place}", "margin=12", f'fillcolor="{fill}"', f'pencolor="{border}"']
        return "\n".join([f'subgraph "cluster_{self.id}" {{', *settings, inside, "}"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A box with rows, one above the other, each a frame around lines."""

    id: str
    title: str
    rows: tuple[tuple[str, ...], ...]
    note: str
    color: str

    def dot(self) -> str:
        """Return the node in Graphviz's language."""
        fill, border = COLORS[self.color]
        frame = f'BORDER="1" COLOR="{border}" BGCOLOR="#ffffff" STYLE="ROUNDED"'
        head = f'<TD BORDER="0"><FONT POINT-SIZE="16"><B>{escape(self.title)}</B></FONT></TD>'
        texts = ["<BR/>".join(map(escape, row)) for row in self.rows]
        rows = [f'<TD {frame}><FONT POINT-SIZE="14">{text}</FONT></TD>' for text in texts]
        note = f'<TD BORDER="0"><FONT POINT-SIZE="14" COLOR="{SOFT}">{escape(self.note)}</FONT></TD>'
        table = "".join(f"<TR>{cell}</TR>" for cell in (head, *rows, note))
        label = f'<TABLE BORDER="0" CELLSPACING="5" CELLPADDING="4">{table}</TABLE>'
        return f'"{self.id}" [label=<{label}>, fillcolor="{fill}", color="{border}"]'


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrow:
    """An arrow from a box to another.

    Attributes:
        start: Id of the box that is drawn first, above or to the left.
        end: Id of the other box.
        label: What flows, or what the arrow means.
        heads: Which ends have a head: forward, back or both.
        beside: Whether the boxes are side by side.
        hidden: Whether the arrow only places the boxes.
    """

    start: str
    end: str
    label: str = ""
    heads: str = "forward"
    beside: bool = False
    hidden: bool = False

    def dot(self) -> str:
        """Return the edge in Graphviz's language."""
        # Spaces without a break keep a label away from its arrow and from the borders beside it.
        space = "&#160;" * (3 if self.beside else 1)
        text = f'<FONT POINT-SIZE="14" COLOR="{TEXT}">{space}{escape(self.label)}{space}</FONT>'
        label = f"label=<{text}>" if self.label else ""
        options = [label, f"dir={self.heads}", "constraint=false" * self.beside, "style=invis" * self.hidden]
        return f'"{self.start}" -> "{self.end}" [{", ".join(filter(None, options))}]'


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A picture: what it shows, its boxes and groups, its arrows.

    Attributes:
        title: What it shows, for readers that do not see it.
        children: Boxes and groups.
        arrows: Arrows between boxes.
        direction: Where arrows point: TB (down) or LR (right).
    """

    title: str
    children: tuple[Box | Column | Group, ...]
    arrows: tuple[Arrow, ...] = ()
    direction: str = "TB"

    def dot(self) -> str:
        """Return the graph in Graphviz's language."""
        return "\n".join(
            [
                "digraph {",
                f'graph [rankdir={self.direction}, bgcolor="#ffffff", pad=0.15, nodesep=0.25, ranksep=0.4,',
                f'  fontname="{FONT}", fontcolor="{TEXT}", style="filled,rounded"]',
                f'node [shape=box, style="filled,rounded", fontname="{FONT}", fontcolor="{TEXT}", margin="0.1,0.06"]',
                f'edge [fontname="{FONT}", color="{LINE}", penwidth=1.6]',
                *self._parts(),
                "}",
            ]
        )

    def _parts(self) -> Iterable[str]:
        yield from (child.dot() for child in self.children)
        yield from (arrow.dot() for arrow in self.arrows)


_RENDER = """
const dot = require("fs").readFileSync(0, "utf8");
require("@viz-js/viz").instance().then(viz => process.stdout.write(viz.renderString(dot, {format: "svg"})));
"""


def draw(picture: Picture) -> str:
    """Return a picture as SVG."""
    command = ["node", "--eval", _RENDER]
    # What Node.js reports about a mistake stays visible.
    svg = subprocess.run(command, input=picture.dot(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Graphviz writes names of boxes as titles, and points where browsers expect pixels.
    svg = re.sub(r"<title>[^<]*</title>\n?", "", svg)
    svg = re.sub(r'(width|height)="(\d+)pt"', r'\1="\2"', svg)
    svg = svg.replace(f'font-family="{FONT}"', f'font-family="{FAMILY}"')
    svg = re.sub(r"<svg ", '<svg role="img" ', svg)
    svg = re.sub(r"(<svg [^>]*>)", rf"\1\n<title>{escape(picture.title)}</title>", svg, count=1)
    return svg[svg.index("<svg") :]
