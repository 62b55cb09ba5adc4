"""Everything that runs on the cluster, as typed cdk8s constructs."""
