#!/usr/bin/env bash
# The `cdk` of .venv: the pinned CLI without its banner about newer versions. cdk.json disables its telemetry.
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
export CDK_DISABLE_VERSION_CHECK=true
# The CLI starts `node`, which only an activated environment has on its PATH where the machine has none.
export PATH="$PATH:$folder/.venv/bin"
exec "$folder/node_modules/.bin/cdk" "$@"
