# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a package's debian/copyright: HAPPE's own, and a part for each Python library that the package carries.

usage: copyrights.py COPYRIGHT FOLDER WHEEL...     the package has the wheels' files below /FOLDER

A library's part has the notices and the text of its licences. Terms that Debian has in /usr/share/common-licenses are
named there. Where a wheel has only the name of a licence, the
text is this file's.
"""

from __future__ import annotations

import re
import sys
from email.parser import HeaderParser
from pathlib import Path, PurePath
from zipfile import ZipFile

TEXT = re.compile(r"\.dist-info/(.*/)?[^/]*(licen[cs]e|copying|notice|authors)[^/]*$", re.IGNORECASE)
NOTICE = re.compile(r"^\W*((?:copyright\b|\(c\)|©)[^\n]*\d{4}[^\n]*)", re.IGNORECASE | re.MULTILINE)
TERMS = re.compile(
    r"(?:GNU GENERAL PUBLIC LICENSE\s+Version 3\b.*?)?TERMS AND CONDITIONS\b.*?END OF TERMS AND CONDITIONS"
    r"|GNU LESSER GENERAL PUBLIC LICENSE\s+Version 3\b.*?choose that version for the\s+Library\.",
    re.DOTALL,
)
# Words that identify terms; the first match counts.
COMMON = {"Derivative Works": "Apache-2.0", "Combined Work": "LGPL-3", "covered work": "GPL-3"}
TEXTS = {
    "MIT": """\
Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in
the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
}


def shortened(text: str) -> str:
    """Return a licence's text without the terms that Debian has."""

    def named(terms: re.Match[str]) -> str:
        names = [name for word, name in COMMON.items() if word in terms[0]]
        return f"The terms are in /usr/share/common-licenses/{names[0]}." if names else terms[0]

    return TERMS.sub(named, text)


def folded(text: str) -> str:
    """Return a text as the lines of a field."""
    return "\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in text.splitlines())


def _classified(classifiers: list[str]) -> str:
    """Return the licence that the classifiers name, if we have its text."""
    return next((name for name in TEXTS if f"License :: OSI Approved :: {name} License" in classifiers), "")


def part(wheel: Path, folder: str) -> str:
    """Return the part of one library. Raises ValueError if its licence has no text."""
    with ZipFile(wheel) as packed:
        names = sorted(packed.namelist())
        about = HeaderParser().parsestr(
            packed.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
        )
        texts = [packed.read(name).decode(errors="replace") for name in names if TEXT.search(name)]
    stated = about["License-Expression"] or about["License"] or _classified(about.get_all("Classifier", []))
    if not texts and stated not in TEXTS:
        raise ValueError(f"{wheel.name}: there is no text of its licence, {stated or 'which has no name'}")
    notices = dict.fromkeys(notice for text in texts for notice in NOTICE.findall(text))
    author = about["Author"] or about["Author-email"] or f"the authors of {about['Name']}"
    tops = sorted({PurePath(name).parts[0] for name in names})
    return "\n".join(
        [
            "Files: "
            + "\n ".join(
                f"{folder}/{top}" if Path(top).suffix in {".py", ".so"} else f"{folder}/{top}/*" for top in tops
            ),
            "Copyright:\n" + folded("\n".join(notices) or author),
            f"License: {about['Name']}-{about['Version']}",
            *(folded(shortened(text)) for text in texts or [TEXTS[stated]]),
            f"Comment: {about['Name']} {about['Version']}, as in its authors' wheel",
        ]
    )


def main() -> None:
    """Write the file to standard output."""
    copyright_file, folder, *wheels = sys.argv[1:]
    try:
        parts = [part(Path(wheel), folder) for wheel in sorted(wheels)]
    except ValueError as error:
        sys.exit(f"copyrights: {error}")
    print("\n\n".join([Path(copyright_file).read_text(encoding="utf-8").strip(), *parts]))


if __name__ == "__main__":
    main()
