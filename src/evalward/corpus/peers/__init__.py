"""Guards that others publish, run by Node from the packages that a user has installed."""
