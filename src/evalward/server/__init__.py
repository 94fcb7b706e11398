"""The sidecar: sockets, requests, the order judge-record-answer, and the life of the process (service.md).

Synchronous gRPC, chosen by measurement (``lifecycle``).
"""
