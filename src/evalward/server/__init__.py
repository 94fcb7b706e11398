"""The sidecar: requests are read, decided, recorded and answered, and the process is started and stopped (service.md).

Imports go one way: lifecycle > transport > observe > decide > requests. ``settings``, ``addresses``, ``limit_names``
and ``file_reload`` are leaves for all of them.

gRPC reads GRPC_VERBOSITY when it is loaded, so it is set here. Its log is off: the lines quote what callers send, and a
caller can cause them at no cost (docs/explanation/reliability.md, "Floods").
"""

import os

os.environ["GRPC_VERBOSITY"] = "NONE"
os.environ.pop("GRPC_TRACE", None)
