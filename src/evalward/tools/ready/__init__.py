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
_SUFFIX: Final = ".yaml"


@cache
def families() -> tuple[str, ...]:
    """Return the names of the ready manifests."""
    names = sorted(each.name for each in files(__package__).iterdir())
    return tuple(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


@cache
def ready_manifest(family: str) -> Manifest:
    """Return the ready manifest ``family`` with all of its variants; raise KeyError."""
    if family not in families():
        raise KeyError(family)
    with as_file(files(__package__) / f"{family}{_SUFFIX}") as path:
        return read_manifest_file(path, has_proven_schemas=True)


def ready_manifests() -> dict[str, Manifest]:
    """Return every ready manifest with all of its variants, by name."""
    return {family: ready_manifest(family) for family in families()}


def families_with(digest: str) -> list[str]:
    """Return the families that have a variant with ``digest``, without parsing the others."""
    return [
        family
        for family in families()
        if digest in (files(__package__) / f"{family}{_SUFFIX}").read_text(encoding="utf-8")
    ]


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
    manifest = ready_manifest(family) if family in families() else None
    if manifest is not None:
        if not variant and len(manifest.variants) == 1:
            return manifest.variant(manifest.variants[0].name)
        if any(each.name == variant for each in manifest.variants):
            return manifest.variant(variant)
    if manifest is not None:
        several = ", ".join(f"{family}/{each.name}" for each in manifest.variants)
        problem = (
            f"{family} has no variant {variant}" if variant else f"{family} has several variants; name one"
        )
        raise ManifestError(name, [Issue("", problem, several)])
    names = ready_names()
    raise ManifestError(
        name, [Issue("", f"no ready manifest of this name{did_you_mean(name, names)}", ", ".join(names))]
    )
