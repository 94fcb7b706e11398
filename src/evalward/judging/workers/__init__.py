"""Guard workers: processes that judge payloads for the one that serves (service.md, "Observability and life cycle").

Parsing holds the GIL, and a thread cannot be stopped: so the front process keeps sockets, policy, audit chain and
verdict cache, and hands each payload over a socketpair to a process that knows nothing but the guard. A worker that
crashes, hangs or talks nonsense is killed and replaced, and costs one request.
"""
