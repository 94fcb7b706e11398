"""Generated protobuf code of ``evalward.v1``; the sources are in ``proto/evalward/v1``."""
