#!/usr/bin/env bash
# Install into .venv-torch what the scripts of tests/conformance import: accelerate, Lightning, Transformers.
source "$(dirname "$0")/common.sh"
begin torch-conformance

export UV_COMPILE_BYTECODE=1

step "accelerate, Lightning and Transformers into .venv-torch"
install_locked .venv-torch requirements/torch-conformance.txt
quietly "import Transformers and Lightning" .venv-torch/bin/python -c "import accelerate, lightning, transformers"
finish "$(packages_of .venv-torch)"
complete
