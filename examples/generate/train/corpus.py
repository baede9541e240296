"""The text the model learns: the six novels of Jane Austen (1775-1817), in the public domain.

They come from Debian's package r-cran-janeaustenr, in which they are character vectors of R: a lazy-load database,
that is zlib streams of R's serialisation format, each behind its size. Nothing of R is needed to read that.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re
import struct
import subprocess
import tempfile
import zlib

PACKAGE = "r-cran-janeaustenr"
DATABASE = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"

# Type bytes of the serialisation format.
STRING_VECTOR = 16
STRING = 9


def _objects(data: bytes):
    """The serialised objects: u32 big-endian size, then a zlib stream of so many bytes."""
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        stream = zlib.decompressobj()
        text = stream.decompress(data[at + 4 :])
        if len(text) != size:
            raise ValueError(f"{DATABASE}: an object at byte {at} has {len(text)} bytes, expected {size}")
        yield text
        at = len(data) - len(stream.unused_data)


def _lines(serialised: bytes):
    """The strings of a character vector; nothing if the object is something else."""
    # "X\n", version, writer, minimum reader; from version 3 on the name of the encoding.
    if serialised[:2] != b"X\n":
        raise ValueError(f"{DATABASE}: an object is not in XDR format")
    (version,) = struct.unpack_from(">I", serialised, 2)
    at = 14
    if version >= 3:
        at += 4 + struct.unpack_from(">I", serialised, at)[0]
    flags, count = struct.unpack_from(">II", serialised, at)
    if flags & 0xFF != STRING_VECTOR:
        return
    at += 8
    for _ in range(count):
        flags, size = struct.unpack_from(">Ii", serialised, at)
        if flags & 0xFF != STRING:
            raise ValueError(f"{DATABASE}: a string has the type {flags & 0xFF}")
        at += 8
        yield serialised[at : at + max(size, 0)].decode("utf-8", errors="replace")
        at += max(size, 0)


def paragraphs(lines) -> str:
    """Lines of about 70 characters become paragraphs of one line each, quotes and dashes plain ASCII."""
    text = "\n".join(lines)
    for old, new in (("\u201c", '"'), ("\u201d", '"'), ("\u2018", "'"), ("\u2019", "'"), ("\u2014", "--"), ("_", "")):
        text = text.replace(old, new)
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    return re.sub(r"\n+", "\n", re.sub(r" +", " ", text)).strip() + "\n"


def novels(package: pathlib.Path | None = None) -> list[bytes]:
    """One byte string per novel, in the order of the package. package: a .deb that is already here."""
    with tempfile.TemporaryDirectory() as folder:
        if package is None:
            subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True, capture_output=True)
            package = next(pathlib.Path(folder).glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(package), folder], check=True)
        data = (pathlib.Path(folder) / DATABASE).read_bytes()
    texts = (paragraphs(_lines(o)).encode("ascii", errors="ignore") for o in _objects(data))
    return [t for t in texts if len(t) > 100_000]
