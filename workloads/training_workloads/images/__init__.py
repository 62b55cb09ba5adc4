"""Building and pushing the image of the jobs: with Docker or Podman here, or with CodeBuild."""
