# Sourced by the scripts beside it: one way to say a step and one way to fail.
set -euo pipefail

step() { printf '\n==> %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Where the finished steps and the built Horovod wheel are kept.
state=.setup
mkdir -p "$state"

# Only what the lock files name is installed: no interpreter downloads, no other index than the machine's own.
export UV_PYTHON_DOWNLOADS=never
install_locked() { # install_locked VENV REQUIREMENTS...
    local venv=$1
    shift
    .venv/bin/uv pip install --python "$venv/bin/python" --require-hashes "${@/#/--requirements=}"
}
