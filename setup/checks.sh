#!/usr/bin/env bash
# Makes .venv-checks: the scanners, apart because they pin what the CDK side needs newer.
source "$(dirname "$0")/common.sh"

step "scanners: cfn-lint and checkov into .venv-checks"
[ -x .venv-checks/bin/python ] || .venv/bin/uv venv --quiet --python .venv/bin/python .venv-checks
install_locked .venv-checks requirements/checks.txt
.venv-checks/bin/cfn-lint --version
