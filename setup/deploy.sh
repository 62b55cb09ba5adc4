#!/usr/bin/env bash
# Create .venv-deploy with the emulator of AWS, apart because its clients are not those of the CDK side.
source "$(dirname "$0")/common.sh"
begin deploy

step "emulator of AWS: ministack into .venv-deploy"
[ -x .venv-deploy/bin/python ] || quietly "create .venv-deploy" \
    .venv/bin/uv venv --clear --python .venv/bin/python .venv-deploy
install_locked .venv-deploy requirements/deploy.txt
finish "$(packages_of .venv-deploy)"
complete
