"""Sphinx's configuration: the site of the pages in docs/, strict about every link. `make docs` builds it."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

project = "cdk-training-cluster"
author = "the authors of cdk-training-cluster"
html_title = project

# The root of the repository is the source, so that a link leads to the same file here and on a Git host.
root_doc = "docs/index"
include_patterns = ["docs/**.md", "examples/**.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]
exclude_patterns = [".*", "node_modules", "cdk.out", "dist", "runs", "data", "tests", "training", "workloads"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.site.page_list",
    "docs.site.api_reference",
    "docs.site.source_pages",
    "docs.site.words",
]

myst_heading_anchors = 4
# Git hosts know no other extensions.
myst_enable_extensions: list[str] = []

autoclass_content = "both"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_use_ivar = True
# One argument a line.
python_maximum_signature_line_length = 60
add_module_names = False
# A block without a language holds output or commands, which Python's colours would break up.
highlight_language = "text"
# A docstring's single backticks hold code.
default_role = "literal"

html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_additional_pages = {"index": "redirect.html"}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
