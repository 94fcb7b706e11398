"""The messages of the protocols of gateways that ask Evalward, generated from ``proto/evalward/gateways``."""
