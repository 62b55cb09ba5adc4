#!/usr/bin/env bash
# Create .venv-scan with the scanners, apart because they pin older versions than the CDK side needs.
source "$(dirname "$0")/common.sh"

step "scanners: cfn-lint and checkov into .venv-scan"
[ -x .venv-scan/bin/python ] || .venv/bin/uv venv --quiet --python .venv/bin/python .venv-scan
install_locked .venv-scan requirements/scan.txt
.venv-scan/bin/cfn-lint --version
