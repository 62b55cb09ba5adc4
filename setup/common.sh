# Sourced by the other scripts of this folder: print a step, fail with a message, install a lock file.
set -euo pipefail

step() { printf '\n==> %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Folder of the finished steps and of the built Horovod wheel.
state=.setup
mkdir -p "$state"

# Install only what the lock files name: no interpreter downloads, no other index than the machine's.
export UV_PYTHON_DOWNLOADS=never
install_locked() { # install_locked VENV REQUIREMENTS...
    local venv=$1
    shift
    .venv/bin/uv pip install --python "$venv/bin/python" --require-hashes "${@/#/--requirements=}"
}
