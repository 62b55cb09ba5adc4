"""Scans what this project makes: cdk-nag, cfn-lint and checkov over the templates, checkov over the manifests."""
