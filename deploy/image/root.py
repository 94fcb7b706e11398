"""Copy the files that the image's programs need into a root file system: ``python3 root.py PLACE VENV``.

Runs in the build, with the base's own Python. The base is not in the resulting image: no shell, no package manager, no
Perl. The image gets the interpreter of ``VENV``, the part of its standard library that a service needs, every shared
library that one of the two loads, the certificates that clients trust, and, for scanners, the package manager's
records of all these files.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Parts of the standard library that no service runs: its tests, its editor, its installers, its toolkits.
UNUSED: Final = (
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data", "config-*"),
    *("site-packages", "dist-packages", "__pycache__"),
)
MERGED: Final = ("bin", "lib", "lib32", "lib64", "sbin")
PLAIN_FILES: Final = (
    "/etc/ld.so.cache",
    "/etc/os-release",
    "/etc/ssl/certs/ca-certificates.crt",
)
# The C library loads these by name, so that no program's headers name them.
LOADED_BY_NAME: Final = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2")
TEXTS: Final = {
    "etc/passwd": "root:x:0:0:root:/:/sbin/nologin\nevalward:x:65532:65532:evalward:/:/sbin/nologin\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/group": "root:x:0:\nevalward:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
ELF: Final = b"\x7fELF"


def gather(place: Path, venv: Path) -> None:
    """Fill ``place``, which must not exist, with what the programs of ``venv`` need; ``venv`` itself is left out."""
    place.mkdir(parents=True)
    for name in MERGED:
        if (Path("/") / name).is_symlink():
            target = (Path("/") / name).readlink()
            (place / str(target).lstrip("/")).mkdir(parents=True, exist_ok=True)
            (place / name).symlink_to(str(target).lstrip("/"))
    for name in ("dev", "proc", "sys"):
        (place / name).mkdir()
    (place / "tmp").mkdir()
    (place / "tmp").chmod(0o1777)
    for name, text in TEXTS.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="ascii")
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(
        library,
        place / library.relative_to("/"),
        ignore=shutil.ignore_patterns(*UNUSED),
        ignore_dangling_symlinks=True,
    )
    compiled(place / library.relative_to("/"), place)
    programs = [path for path in links_to(venv / "bin" / "python") if not path.is_relative_to(venv)]
    binaries = [path for path in chain(walk(library, without=UNUSED), walk(venv), programs) if is_elf(path)]
    needed = {*programs, *shared(binaries)}
    needed |= {path for path in by_name(needed) if path.exists()}
    needed |= {Path(name) for name in PLAIN_FILES if Path(name).exists()}
    for path in needed:
        copied(path, place)
    described(
        place, {*needed, *(path for path in walk(library, without=UNUSED) if is_elf(path)), library / "os.py"}
    )


def links_to(path: Path) -> Iterator[Path]:
    """Yield ``path``, and every link behind it up to the file."""
    yield path
    while path.is_symlink():
        path = path.parent / path.readlink()
        yield path


def walk(folder: Path, *, without: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the files under ``folder``, save folders ``without``, that may be programs by their suffix or place."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        yield from (Path(parent, name) for name in names if ".so" in name or Path(parent).name == "bin")


def is_elf(path: Path) -> bool:
    """Say whether the file is a program or a shared library."""
    with path.open("rb") as stream:
        return stream.read(len(ELF)) == ELF


def shared(binaries: Iterable[Path]) -> Iterator[Path]:
    """Yield the shared libraries that ``binaries`` load, and the loader; ValueError for one that is not there."""
    for path in binaries:
        told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout  # noqa: S603, S607
        for line in told.splitlines():
            if "not found" in line:
                raise ValueError(f"{path}: {line.strip()}")
            found = line.rpartition("=>")[2].partition(" (0x")[0].strip()
            if found.startswith("/"):
                yield Path(found)


def by_name(needed: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths where libraries that are loaded by name would be: next to the C library."""
    folder = next(path.parent for path in needed if path.name.startswith("libc.so"))
    return (folder / name for name in LOADED_BY_NAME)


def copied(path: Path, place: Path) -> None:
    """Copy ``path`` to the same path below ``place``, a link between programs as a link."""
    target = place / path.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target, follow_symlinks=path.parent.name != "bin")


def compiled(folder: Path, place: Path) -> None:
    """Compile the library without source checks: the image is read-only, so nothing can be recompiled later."""
    done = compileall.compile_dir(
        folder,
        quiet=1,
        stripdir=place,
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not done:
        raise ValueError(f"{folder} could not be compiled")


def described(place: Path, paths: Iterable[Path]) -> None:
    """Write what dpkg says of the packages that ``paths`` are from, and their licences, where a base has dpkg."""
    if shutil.which("dpkg-query") is None:
        return
    names = sorted({name for path in paths for name in (str(path), os.path.realpath(path))})
    told = subprocess.run(  # noqa: S603 - paths that were found above
        ["dpkg-query", "--search", *names],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    packages = sorted(
        {line.partition(": ")[0] for line in told.splitlines() if not line.startswith("diversion")}
    )
    status = subprocess.run(["dpkg-query", "--status", *packages], capture_output=True, text=True, check=True)  # noqa: S603, S607
    (place / "var/lib/dpkg").mkdir(parents=True)
    (place / "var/lib/dpkg/status").write_text(status.stdout, encoding="utf-8")
    for package in packages:
        licence = Path("/usr/share/doc", package.partition(":")[0], "copyright")
        if licence.exists():
            copied(licence, place)


if __name__ == "__main__":
    gather(Path(sys.argv[1]), Path(sys.argv[2]))
