"""Generated protobuf code of ``evalward.gateways.v1``; the sources are in ``proto/evalward/gateways/v1``."""
