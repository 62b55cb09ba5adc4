#!/usr/bin/env bash
# Create .venv-torch with PyTorch, apart from TensorFlow, which needs another NumPy.
source "$(dirname "$0")/common.sh"
begin torch

# Compile at installation: where Python cannot write bytecode, every rank would compile PyTorch at every start.
export UV_COMPILE_BYTECODE=1

step "PyTorch into .venv-torch, 3 GB to download"
# The lock is for Python 3.11, which the training side has.
[ -x .venv-torch/bin/python ] || quietly "create .venv-torch" \
    .venv/bin/uv venv --clear --python .venv-training/bin/python .venv-torch
install_locked .venv-torch requirements/torch.txt
# In place of PyTorch's own, whose agents run what arrives over the network.
{ echo "#!$PWD/.venv-torch/bin/python" && sed 1d training/pods/torchrun.py; } >.venv-torch/bin/torchrun
quietly "import PyTorch" .venv-torch/bin/python -c "import torch, torchvision"
finish "$(packages_of .venv-torch)"
complete
