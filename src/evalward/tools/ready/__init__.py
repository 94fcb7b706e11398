"""Ready manifests: the manifests that Evalward ships, one file per server with a variant for each way to start it."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

from evalward.policy.issues import Issue
from evalward.similar import did_you_mean
from evalward.tools.manifest_file import ManifestError, read_manifest_file

if TYPE_CHECKING:
    from evalward.tools.manifest import Manifest

SCHEME: Final = "ready:"
"""Marks the name of a ready manifest where a file name is possible: ``ready:chrome-devtools-mcp/slim``."""


@cache
def ready_manifests() -> dict[str, Manifest]:
    """Return every ready manifest with all of its variants, by name."""
    found = {}
    for entry in sorted(files(__package__).iterdir(), key=lambda each: each.name):
        if entry.name.endswith(".yaml"):
            with as_file(entry) as path:
                found[path.stem] = read_manifest_file(path)
    return found


def ready_names() -> list[str]:
    """Return the name of every variant, as ``load_ready`` takes it."""
    return [
        f"{family}/{variant.name}"
        for family, manifest in ready_manifests().items()
        for variant in manifest.variants
    ]


def load_ready(name: str) -> Manifest:
    """Return the manifest of the variant called ``family/variant``, or of a family that has only one.

    Raise ManifestError for another name.
    """
    family, _, variant = name.partition("/")
    manifest = ready_manifests().get(family)
    if manifest is not None:
        if not variant and len(manifest.variants) == 1:
            return manifest.variant(manifest.variants[0].name)
        if any(each.name == variant for each in manifest.variants):
            return manifest.variant(variant)
    names = ready_names()
    if manifest is not None:
        several = ", ".join(f"{family}/{each.name}" for each in manifest.variants)
        problem = (
            f"{family} has no variant {variant}" if variant else f"{family} has several variants; name one"
        )
        raise ManifestError(name, [Issue("", problem, several)])
    raise ManifestError(
        name, [Issue("", f"no ready manifest of this name{did_you_mean(name, names)}", ", ".join(names))]
    )
