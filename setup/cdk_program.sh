#!/usr/bin/env bash
# The `cdk` of .venv: the pinned CLI without its banner about newer versions. cdk.json disables its telemetry.
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
export CDK_DISABLE_VERSION_CHECK=true
# For `python` where the machine has none and the environment is not activated.
export PATH="$PATH:$folder/.venv/bin"
cli=$folder/node_modules/.bin/cdk
# The Node.js that the set-up installed; without one, that of the machine is new enough. JSII_NODE: the app's.
node=$folder/.venv/bin/node
[ -x "$node" ] || exec "$cli" "$@"
export JSII_NODE=${JSII_NODE:-$node}
exec "$node" "$cli" "$@"
