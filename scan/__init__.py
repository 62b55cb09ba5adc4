"""Scan the output of this project: cdk-nag, cfn-lint and checkov on the templates, checkov on the manifests."""
