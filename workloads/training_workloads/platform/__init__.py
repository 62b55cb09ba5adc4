"""The platform of the jobs in a cluster, as cdk8s: the MPI operator, the device plugins and the shared volumes."""
