"""Write a CycloneDX SBOM of an installation: ``python deploy/image/sbom.py PLACE > evalward.cdx.json``.

PLACE is an image's root file system, or a virtual environment with the wheel. Found are the Python packages of the
virtual environment, with what needs what, the interpreter, and, in an image, the Debian packages that files of the base
are from (``root.py`` keeps dpkg's word on them). The document depends on nothing but PLACE, so that it can be made
again and compared; it is checked against the schema before it is printed. Needs ``cyclonedx-bom``, which brings the
library.
"""

from __future__ import annotations

import re
import sys
import uuid
from datetime import UTC, datetime
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

VENV: Final = "opt/evalward"
SETTINGS: Final = "pyvenv.cfg"
ITSELF: Final = "evalward"
VERSION: Final = SchemaVersion.V1_6


def document(place: Path) -> str:
    """Return the document for ``place`` as JSON; raise ValueError without evalward in it, or if it is invalid."""
    venv = place if (place / SETTINGS).exists() else place / VENV
    (site,) = (venv / "lib").glob("python3*/site-packages")
    found = {str(canonicalize_name(each.name)): each for each in distributions(path=[str(site)])}
    if ITSELF not in found:
        raise ValueError(f"{site} has no {ITSELF}")
    parts = {name: python_package(name, each) for name, each in found.items()}
    bom = Bom()
    bom.metadata.component = parts[ITSELF]
    for part in (*parts.values(), interpreter(venv), *debian_packages(place)):
        if part is not parts[ITSELF]:
            bom.components.add(part)
    for name, each in found.items():
        needed = {str(canonicalize_name(Requirement(text).name)) for text in each.requires or ()}
        bom.register_dependency(parts[name], [parts[other] for other in sorted(needed & parts.keys())])
    # A name of its content, and the time of its sources: the same image gives the same document.
    refs = sorted(str(part.purl) for part in (*bom.components, parts[ITSELF]))
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(refs))
    bom.metadata.timestamp = datetime.fromtimestamp(0, UTC)
    text = make_outputter(bom, OutputFormat.JSON, VERSION).output_as_string(indent=2)
    fault = make_schemabased_validator(OutputFormat.JSON, VERSION).validate_str(text)
    if fault is not None:
        raise ValueError(f"the schema refuses it: {fault}")
    return text


def python_package(name: str, found: Distribution) -> Component:
    """Return the component of a package that pip installed."""
    own = name == ITSELF
    part = Component(
        type=ComponentType.APPLICATION if own else ComponentType.LIBRARY,
        name=found.name,
        version=found.version,
        purl=PackageURL("pypi", name=name, version=found.version),
        bom_ref=f"pypi:{name}@{found.version}",
    )
    said = found.metadata
    if "License-Expression" in said:
        part.licenses.add(LicenseExpression(said["License-Expression"]))
    elif "License" in said and "\n" not in said["License"]:
        part.licenses.add(DisjunctiveLicense(name=said["License"]))
    return part


def interpreter(venv: Path) -> Component:
    """Return the component of the virtual environment's interpreter."""
    settings = (venv / SETTINGS).read_text(encoding="utf-8")
    (version,) = re.findall(r"^version\s*=\s*(\S+)$", settings, re.MULTILINE)
    return Component(
        type=ComponentType.PLATFORM,
        name="python",
        version=version,
        purl=PackageURL("generic", name="python", version=version),
        bom_ref=f"generic:python@{version}",
    )


def debian_packages(root: Path) -> Iterator[Component]:
    """Yield the component of each dpkg package in ``root``."""
    status = root / "var/lib/dpkg/status"
    for text in status.read_text(encoding="utf-8").split("\n\n") if status.exists() else ():
        if text.strip():
            said = HeaderParser().parsestr(text.lstrip("\n"))
            name, version, architecture = (said[field] for field in ("Package", "Version", "Architecture"))
            yield Component(
                type=ComponentType.LIBRARY,
                name=name,
                version=version,
                purl=PackageURL("deb", "debian", name, version, {"arch": architecture}),
                bom_ref=f"deb:{name}:{architecture}@{version}",
            )


if __name__ == "__main__":
    sys.stdout.write(document(Path(sys.argv[1])) + "\n")
