#!/usr/bin/env bash
# Report every missing program that only the machine's administrator can install.
source "$(dirname "$0")/common.sh"

missing=()
command -v git >/dev/null || missing+=("git")
command -v c++ >/dev/null || command -v g++ >/dev/null || missing+=("a C++ compiler (Debian: g++)")
if ! command -v python3.11 >/dev/null; then
    found=$(python3 --version 2>/dev/null || echo "no python3")
    missing+=("python3.11 (found: $found; Debian: python3)")
elif ! python3.11 -c 'import ensurepip' 2>/dev/null; then
    missing+=("Python's venv module (Debian: python3-venv)")
fi
[ ${#missing[@]} -eq 0 ] || fail "install what is missing, then run make again: $(printf '%s; ' "${missing[@]}" | sed 's/; $//')"
