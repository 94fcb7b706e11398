"""Post a hook's input to the service and print its answer: the small program that an agent starts for every call.

Run as a file, ``python -I -S ask.py PRODUCT ADDRESS``: it imports no module of Evalward, and of the standard library
only what the interpreter has inside. ``os`` and ``socket`` would take as long as the interpreter's start. Whatever
fails, the exit code is 2, which blocks the call, with the reason on stderr; most products let a call through on any
other failure.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of it, which takes time
import _socket
import posix
import sys
import time

BLOCKED = 2
SECONDS = 5.0
LIMIT = 9.0  # for everything: when a product's own limit ends, it lets the call through
COLD_LIMIT = 55.0  # the same where it may judge without a service
MOST_BYTES = 64 * 1024 * 1024
USAGE = "ask.py PRODUCT unix:PATH [--token-file FILE] [--peer-uid UID] [--cold COMMAND ...]"
_CREDENTIALS = 12  # struct ucred: pid, uid, gid
_CHUNK = 65536
_ENDINGS = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)


class Failed(Exception):  # noqa: N818 - what it says
    """Why there is no answer; ``absent``: no service is there."""

    def __init__(self, why: str, *, absent: bool = False) -> None:
        super().__init__(why)
        self.absent = absent


def main(arguments: list[str]) -> int:
    """Answer one hook; return the exit code."""
    try:
        for each in _ENDINGS:
            _signal.signal(each, _ended)
        _signal.signal(_signal.SIGALRM, _late)
        _signal.setitimer(_signal.ITIMER_REAL, COLD_LIMIT if "--cold" in arguments else LIMIT)
        return _answered(arguments)
    except Failed as failure:
        return blocked(str(failure))
    except BaseException as failure:  # noqa: BLE001 - anything else than 2 would let the call through
        return blocked(f"The call could not be judged ({type(failure).__name__}).")


def blocked(why: str) -> int:
    """Write the reason as an envelope to stderr; return the exit code that blocks."""
    text = why.replace("\\", "\\\\").replace('"', '\\"')
    envelope = f'{{"ok":false,"code":"GUARD_UNAVAILABLE","error":"{text}","retryable":true}}'
    try:
        posix.write(2, f"Evalward: {why} {envelope}\n".encode("utf-8", "replace"))
    except OSError:
        return BLOCKED
    return BLOCKED


def _ended(_number: int, _frame: object) -> None:
    posix._exit(BLOCKED)  # noqa: SLF001 - os._exit


def _late(_number: int, _frame: object) -> None:
    posix._exit(blocked("The call could not be judged in time."))  # noqa: SLF001 - os._exit


def _answered(arguments: list[str]) -> int:
    product, address, options, cold = _options(arguments)
    body = _all_of_stdin()
    try:
        code, answer = _asked(product, address, options, body)
    except Failed as failure:
        if not (failure.absent and cold):
            raise
        code, answer = _cold(cold, body)
    _write(answer)
    return code


def _options(arguments: list[str]) -> tuple[str, str, dict[str, str], list[str]]:
    cold: list[str] = []
    if "--cold" in arguments:
        at = arguments.index("--cold")
        arguments, cold = arguments[:at], arguments[at + 1 :]
    options = dict(zip(arguments[2::2], arguments[3::2], strict=False))
    if len(arguments) < 2 or len(arguments) % 2 or {*options} - {"--token-file", "--peer-uid"}:  # noqa: PLR2004
        raise Failed(f"usage: {USAGE}")
    product, address = arguments[:2]
    if not address.startswith("unix:") or not product.replace("-", "").isalnum():
        raise Failed(f"usage: {USAGE}")
    return product, address[len("unix:") :], options, cold


def _all_of_stdin() -> bytes:
    parts = []
    size = 0
    while part := posix.read(0, _CHUNK):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise Failed("The hook's input is too long.")
    return b"".join(parts)


def _asked(product: str, path: str, options: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """Return the exit code and the text of the service's answer; raise Failed."""
    until = time.monotonic() + SECONDS
    with _socket_to(path) as connection:
        _check_peer(connection, path, options.get("--peer-uid"))
        head = f"POST /hook/{product} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        if "--token-file" in options:
            head += f"Authorization: Bearer {_token(options['--token-file'])}\r\n"
        try:
            connection.settimeout(SECONDS)
            connection.sendall(head.encode("ascii") + b"\r\n" + body)
        except OSError:
            pass  # a service that refuses long input answers before it has read all
        received = b""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise Failed("The service did not answer in time.")
            connection.settimeout(left)
            try:
                part = connection.recv(_CHUNK)
            except TimeoutError:
                raise Failed("The service did not answer in time.") from None
            except OSError:
                raise Failed("The service closed the connection.") from None
            if not part:
                break
            received += part
    return _parsed(received)


class _socket_to:  # noqa: N801 - used as a function
    def __init__(self, path: str) -> None:
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._path = path

    def __enter__(self) -> _socket.socket:
        self._socket.settimeout(SECONDS)
        try:
            self._socket.connect(self._path)
        except (FileNotFoundError, ConnectionRefusedError):
            self._socket.close()
            raise Failed("No service answers at the address of the hook.", absent=True) from None
        return self._socket

    def __exit__(self, *_failure: object) -> None:
        self._socket.close()


def _check_peer(connection: _socket.socket, path: str, uid: str | None) -> None:
    """Raise Failed unless the service runs as this user, as root, or as the given user: others could allow all.

    Where the system does not say the user of a peer, the owner of the socket counts.
    """
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:
        owner = posix.stat(path).st_uid
    else:
        found = connection.getsockopt(_socket.SOL_SOCKET, option, _CREDENTIALS)
        owner = int.from_bytes(found[4:8], sys.byteorder)
    expected = {posix.getuid(), 0} if uid is None else {int(uid)}
    if owner not in expected:
        raise Failed("The service at the address of the hook runs as another user.")


def _token(file: str) -> str:
    with open(file, encoding="ascii") as lines:  # noqa: PTH123 - pathlib is a large import
        for line in lines:
            if line.strip() and not line.startswith("#"):
                return line.strip()
    raise Failed("The token file is empty.")


def _parsed(received: bytes) -> tuple[int, bytes]:
    head, separator, answer = received.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    if not separator or status.split(b" ")[1:2] != [b"200"] or b"evalward-exit" not in headers:
        raise Failed(
            "What answers at the address of the hook is no service for hooks, or refused the request."
        )
    if int(headers[b"content-length"]) != len(answer):
        raise Failed("The service's answer is not complete.")
    return (0 if headers[b"evalward-exit"] == b"0" else BLOCKED), answer


def _cold(command: list[str], body: bytes) -> tuple[int, bytes]:
    """Judge in a process of its own, where no service is there."""
    import subprocess  # noqa: PLC0415 - a large import, for this case only

    done = subprocess.run(command, input=body, capture_output=True, check=False)  # noqa: S603 - the operator's
    if done.returncode != 0:
        raise Failed("No service answers, and the call could not be judged without one.")
    return 0, done.stdout


def _write(answer: bytes) -> None:
    while answer:
        answer = answer[posix.write(1, answer) :]


if __name__ == "__main__":
    posix._exit(main(sys.argv[1:]))  # noqa: SLF001 - os._exit
