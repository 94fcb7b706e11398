"""Compare synchronous and asyncio gRPC servers: the reason for ``evalward.server.transport.grpc_server``.

Each request parses 1 KB. Prints medians over rounds in which the servers alternate: p50 and CPU of a request
with one in flight, how long a health check takes while three long parses run, CPU of a request and requests/s
with eight in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import grpc
import tree_sitter_javascript
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from payload_sets import compose
from service import cpu_seconds
from tree_sitter import Language, Parser

METHOD = "/evalward.benchmark.Parse/Parse"
KINDS = ("sync 2", "sync 20", "asyncio inline", "asyncio pool")
LANGUAGE = Language(tree_sitter_javascript.language())
ROUNDS, REQUESTS, IN_FLIGHT = 3, 1_500, 8


def parse(code: bytes) -> bytes:
    """Do what stands for the guard's work."""
    Parser(LANGUAGE).parse(code)
    return b""


def handlers(handler: Any) -> tuple[Any]:
    """Return the handlers of a service with one method."""
    _, service, method = METHOD.split("/")
    one = {method: grpc.unary_unary_rpc_method_handler(handler)}
    return (grpc.method_handlers_generic_handler(service, one),)


def serve_sync(threads: int) -> None:
    """Serve from a thread pool; print the port."""
    server = grpc.server(ThreadPoolExecutor(threads))
    server.add_generic_rpc_handlers(handlers(lambda code, _context: parse(code)))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


async def serve_asyncio(*, pooled: bool) -> None:
    """Serve from an event loop, with the parse in it or in a thread pool; print the port."""
    loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(2)

    async def handler(code: bytes, _context: Any) -> bytes:
        return await loop.run_in_executor(pool, parse, code) if pooled else parse(code)

    server = grpc.aio.server()
    server.add_generic_rpc_handlers(handlers(handler))
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)  # type: ignore[attr-defined]  # not in the stubs
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


def measure(pid: int, channel: grpc.Channel) -> list[float]:
    """Return the five figures of one server in one round."""
    call = channel.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
    code = compose("ordinary", "realistic", "1 KB").code
    long = compose("ordinary", "realistic", "100 KB").code
    for _ in range(100):
        call(code)
    latencies, start = [], cpu_seconds(pid)
    for _ in range(REQUESTS):
        begin = time.perf_counter()
        call(code)
        latencies.append(time.perf_counter() - begin)
    cpu = (cpu_seconds(pid) - start) / REQUESTS
    busy = [call.future(long) for _ in range(3)]
    begin = time.perf_counter()
    health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    checked = time.perf_counter() - begin
    for future in busy:
        future.result()
    pending = deque(call.future(code) for _ in range(IN_FLIGHT))
    start, begin = cpu_seconds(pid), time.perf_counter()
    for _ in range(REQUESTS):
        pending.popleft().result()
        pending.append(call.future(code))
    seconds, crowded = time.perf_counter() - begin, (cpu_seconds(pid) - start) / REQUESTS
    for future in pending:
        future.result()
    return [median(latencies) * 1e3, cpu * 1e3, checked * 1e3, crowded * 1e3, REQUESTS / seconds]


def main() -> None:
    """Parse the command line; serve, or measure every kind of server in turn and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--serve", choices=KINDS, help="serve one kind on a free port and print the port")
    match options.parse_args().serve:
        case None:
            print_table()
        case "asyncio inline" | "asyncio pool" as kind:
            asyncio.run(serve_asyncio(pooled=kind == "asyncio pool"))
        case kind:
            serve_sync(int(kind.removeprefix("sync ")))


def print_table() -> None:
    """Measure every kind of server in alternating rounds and print the medians."""
    figures: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    for kind in KINDS * ROUNDS:
        command = [sys.executable, str(Path(__file__)), "--serve", kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}") as channel:
                figures[kind].append(measure(process.pid, channel))
            process.kill()
    print("| server | p50 ms | CPU ms | health ms | CPU ms, 8 in flight | requests/s, 8 in flight |")
    print("|---|---|---|---|---|---|")
    for kind, rounds in figures.items():
        print(
            f"| {kind} |", " | ".join(f"{median(column):,.2f}" for column in zip(*rounds, strict=True)), "|"
        )


if __name__ == "__main__":
    main()
