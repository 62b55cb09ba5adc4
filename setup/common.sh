# Sourced by the other scripts of this folder: one line a step, one line a mistake, one set-up at a time.
set -euo pipefail

# The make that runs this script would make CMake's make colour its output, and set its number of processes.
unset MAKEFLAGS MAKELEVEL MAKE_TERMOUT MAKE_TERMERR

# Folder of the finished steps, of the output of the last command and of the built Horovod wheel.
state=.setup
log=$state/setup.log

title="" # of the step whose line is not complete

fail() {
    [ -z "$title" ] || echo
    printf 'error: %s\n' "$*" >&2
    exit 1
}

trap 'stopped "stopped; run make again: it keeps the finished steps"' INT TERM HUP
stopped() {
    trap '' INT TERM HUP
    [ -z "$title" ] || echo
    echo "$*" >&2
    exit 130
}

step() { # TITLE: begin the line of a step
    title=$*
    step_started=$SECONDS
    printf '==> %s ... ' "$title"
    # The terminal remembers the place.
    [ ! -t 1 ] || printf '\0337'
}

progress() { # TEXT: replace what follows the title, on a terminal of any width
    [ ! -t 1 ] || printf '\0338\033[K%s' "$*"
}

finish() { # RESULT: end the line of a step
    progress ""
    printf '%s, %s s\n' "$*" "$((SECONDS - step_started))"
    title=""
}

begin() { # NAME: wait for another set-up of this folder; exit if it did the same
    done_file=$state/$1.done
    { mkdir -p "$state" && : >>"$log"; } 2>/dev/null ||
        fail "cannot write into $PWD; clone the repository into a folder of yours, with free disk space"
    local before
    before=$(stat -c %y "$done_file" 2>/dev/null || true)
    exec 9>"$state/lock"
    if ! flock --nonblock 9; then
        echo "another make installs into this folder; waiting until it ends"
        flock 9
        [ "$(stat -c %y "$done_file" 2>/dev/null || true)" = "$before" ] || exit 0
    fi
}

# The end of `begin`: make runs the step again unless this file is newer than what the step reads.
# The path is for the Makefile, which reports a folder that was renamed or copied.
complete() { realpath "$state" >"$done_file"; }

quietly() { # WHAT COMMAND...: run a command; if it fails, show the end of its output and what failed
    local what=$1
    shift
    if ! "$@" </dev/null 2>&1 | tee "$log" | $filter; then
        [ -z "$title" ] || echo
        title=""
        # A compiler reports its errors long before the end.
        { grep -m 3 ' error: ' "$log" || true; tail -n 12 "$log"; } >&2
        fail "could not $what; all of the output is in $log. If a download failed, check the network;" \
            "then run make again: it keeps the finished steps"
    fi
}
ignore() { cat >/dev/null; }
# What reads the output of a command while it runs.
filter=ignore

# No other interpreter than that of a script; no other index than the machine's.
export UV_PYTHON_DOWNLOADS=never
install_locked() { # VENV REQUIREMENTS [OPTION...]: install what a lock file names
    quietly "install $2 into $1" \
        .venv/bin/uv pip install --python "$1/bin/python" --require-hashes --requirements "$2" "${@:3}"
}

packages_of() { # VENV
    echo "$(compgen -G "$1/lib/python3*/site-packages/*.dist-info" | wc -l) packages"
}

find_python() { # print the first Python of 3.11 or newer that can make a virtual environment; .ci/run sets PYTHON
    local name
    for name in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    return 1
}
