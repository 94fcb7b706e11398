"""Worker processes that judge payloads for the server process (service.md, "Observability and life cycle").

Parsing holds the GIL, and a thread cannot be stopped. So the server process keeps sockets, policy, audit chain and
verdict cache, and passes each payload over a socketpair to a process that has only the guard. A worker that crashes,
hangs or sends invalid data is killed and replaced, and affects one request.
"""
