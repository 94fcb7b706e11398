"""Load a manifest by what the operator names: a file, or a manifest that Evalward ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.tools.manifest_file import read_manifest_file
from evalward.tools.ready import SCHEME, load_ready

if TYPE_CHECKING:
    import os

    from evalward.tools.manifest import Manifest


def load_manifest(source: str | os.PathLike[str]) -> Manifest:
    """Return the manifest in the YAML or JSON file ``source``, or the ready manifest that ``ready:NAME`` names.

    Raise ManifestError.
    """
    name = str(source)
    if name.startswith(SCHEME):
        return load_ready(name.removeprefix(SCHEME))
    return read_manifest_file(source)
