"""Parts that are installed into a cluster for its jobs: device plugins, autoscaler, MPI operator."""
