#!/usr/bin/env bash
# Report in one line what stops the set-up: a folder's name, a full disk, programs that only an administrator installs.
source "$(dirname "$0")/common.sh"

# Compilers, MPI and PATH separate words at these characters; letters outside of ASCII work.
ascii=$(LC_ALL=C && echo "${PWD//[$'\200'-$'\377']/}")
case $ascii in
*[!A-Za-z0-9/._+@%=~,-]*)
    fail "'$PWD' contains a character that compilers and MPI do not accept;" \
        "move the clone to a folder with only letters, digits and ._-+@%=~, in its path"
    ;;
esac

# MiB: the environments with what uv and npm keep, the compilation of Horovod, and the temporary files of the tests:
# 3,852 at the peak of quickstart and 4,703 at that of the tests (make test-long SUITE=fresh).
needed=4900
if [ ! -d .venv-training ]; then
    free=$(df -Pm . | sed -nE '$s/.* ([0-9]+) +[0-9]+% .*/\1/p')
    [ "${free:-$needed}" -ge "$needed" ] ||
        fail "'$PWD' has $free MB of free disk space, but the set-up needs $needed MB; free some, then run make again"
fi

missing=()
command -v git >/dev/null || missing+=("git")
command -v c++ >/dev/null || command -v g++ >/dev/null || missing+=("a C++ compiler (Debian: g++)")
if ! find_python >/dev/null; then
    if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        missing+=("Python's venv module (Debian: python3-venv)")
    else
        found=$(python3 --version 2>/dev/null || echo "no python3")
        missing+=("Python 3.11 or newer (found: $found; Debian 12 or later: python3 python3-venv)")
    fi
fi
[ ${#missing[@]} -eq 0 ] || fail "install what is missing, then run make again: $(printf '%s; ' "${missing[@]}" | sed 's/; $//')"
