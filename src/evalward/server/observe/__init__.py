"""Metrics, traces, exported logs, and the probes of the admin listener."""
