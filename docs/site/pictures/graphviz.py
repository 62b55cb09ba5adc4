"""Pictures by Graphviz, which runs as WebAssembly in Node.js."""

import re
import subprocess

from setup.source_tree import ROOT

__all__ = ["drawn"]

# Graphviz knows the widths of Helvetica's letters; browsers take the first family that they have.
_FONT, _FAMILIES = "Helvetica", "Helvetica, Arial, Liberation Sans, sans-serif"
_LETTERS = f'fontname="{_FONT}", fontcolor="#1f2933", fontsize=15'

# Defaults of every picture.
_STYLE = f"""
graph [{_LETTERS}, bgcolor="#ffffff", nodesep=0.25, pad=0.15, ranksep=0.4]
graph [fillcolor="#f5f7fa", pencolor="#9aa5b1", style="filled,rounded"]
node [{_LETTERS}, shape=box, color="#7b8794", fillcolor="#ffffff", margin="0.12,0.1", style="filled,rounded"]
edge [{_LETTERS}, color="#7b8794", penwidth=1.6]
"""

_RENDER = """
const dot = require("fs").readFileSync(0, "utf8");
require("@viz-js/viz").instance().then(viz => process.stdout.write(viz.renderString(dot, {format: "svg"})));
"""


def drawn(dot: str) -> str:
    """Return a graph in Graphviz's language, whose name is the title of the picture, as SVG."""
    styled = re.sub(r"^digraph .*{$", rf"\g<0>{_STYLE}", dot, count=1, flags=re.MULTILINE)
    # Node.js reports mistakes in the graph on standard error, which stays visible.
    command = ["node", "--eval", _RENDER]
    svg = subprocess.run(command, input=styled, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    title, *_ = re.findall(r"<title>[^<]*</title>\n?", svg)
    # Graphviz writes the names of boxes as titles too, and points where browsers expect pixels.
    svg = re.sub(r"<title>[^<]*</title>\n?", "", svg)
    svg = re.sub(r'(width|height)="(\d+)pt"', r'\1="\2"', svg)
    svg = re.sub(rf'font-family="{_FONT}[^"]*"', f'font-family="{_FAMILIES}"', svg)
    svg = re.sub(r"<svg ([^>]*>)", rf'<svg role="img" \1\n{title.strip()}', svg, count=1)
    return svg[svg.index("<svg") :]
