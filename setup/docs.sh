#!/usr/bin/env bash
# Install the generator of the site into .venv: its API reference imports both packages.
source "$(dirname "$0")/common.sh"
begin docs

step "documentation: Sphinx into .venv"
install_locked .venv requirements/docs.txt
finish "$(.venv/bin/python -m sphinx --version)"
complete
