"""The sidecar: sockets, requests, the order judge-record-answer, and the life of the process (service.md).

Synchronous gRPC, chosen by measurement (``lifecycle``).

gRPC's core reads how much it is to say when it is loaded, which is after this. It says nothing: its lines and traces
quote what callers send, and one costs a caller nothing (docs/explanation/reliability.md, "Floods").
"""

import os

os.environ["GRPC_VERBOSITY"] = "NONE"
os.environ.pop("GRPC_TRACE", None)
