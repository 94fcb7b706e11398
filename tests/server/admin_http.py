"""HTTP requests to an admin listener."""

import http.client
import re
from typing import Any, NamedTuple


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def fetch(address: str, path: str, method: str = "GET", **headers: str) -> Reply:
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Reply(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


def samples(address: str) -> dict[str, float]:
    """Return every sample of ``/metrics`` by its name and labels, as they are written there."""
    text = fetch(address, "/metrics").body.decode()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if not line.startswith("#")
    }


def values(address: str, name: str) -> dict[str, float]:
    """Return the samples of ``name``, by their names and labels."""
    return {key: value for key, value in samples(address).items() if key.partition("{")[0] == name}


def names(address: str) -> set[str]:
    """Return the names of the samples of ``/metrics``."""
    return {name.partition("{")[0] for name in samples(address)}


def labels_of(address: str, name: str) -> list[dict[str, Any]]:
    """Return the labels of every sample of ``name``."""
    found = [key for key in samples(address) if key.partition("{")[0] == name]
    return [dict(re.findall(r'(\w+)="([^"]*)"', key)) for key in found]
