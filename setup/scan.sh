#!/usr/bin/env bash
# Create .venv-scan with the scanners, apart because they pin older versions than the CDK side needs.
source "$(dirname "$0")/common.sh"
begin scan

step "scanners: cfn-lint and checkov into .venv-scan"
[ -x .venv-scan/bin/python ] || quietly "create .venv-scan" \
    .venv/bin/uv venv --clear --python .venv/bin/python .venv-scan
install_locked .venv-scan requirements/scan.txt
finish "$(packages_of .venv-scan), $(.venv-scan/bin/cfn-lint --version)"
complete
