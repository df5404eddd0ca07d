# SPDX-License-Identifier: GPL-2.0-or-later
"""The links and paths in the documents lead to something."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from program import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/**/*.md")])
# Other profiles/ are a server's.
FOLDERS = (
    *("demo/", "docs/", "governor/", "packaging/", "power-logger/", "study-server/", "tests/", "tools/", "ui/"),
    *("profiles/org", "profiles/profiles.sql", "profiles/schema", "profiles/t61-power.csv", "profiles/vectors"),
)
PATH = re.compile(r"[\w.+@-]+(?:/[\w.+@-]+)+/?")
NO_WORD = re.compile(r"[^\w\- ]")


def tokens(document: Path) -> list[Token]:
    """Return a document's blocks, and the parts of its paragraphs."""
    blocks = MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8"))
    return [each for block in blocks for each in (block, *(block.children or ()))]


def anchors(document: Path) -> set[str]:
    """Return the anchors that a forge makes of a document's headings."""
    texts = [block.content.replace("`", "") for block in tokens(document) if block.type == "inline"]
    return {NO_WORD.sub("", text.lower()).replace(" ", "-") for text in texts}


def fault(document: Path, link: str) -> str | None:
    """Return the fault of a link; None if there is none."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None if parts.scheme == "https" and parts.netloc else "is not https"
    target = (document.parent / parts.path).resolve() if parts.path else document
    if not target.is_file():
        return "leads to no file"
    if parts.fragment and target.suffix == ".md" and parts.fragment not in anchors(target):
        return f"{target.name} has no such heading"
    return None


def test_links_lead_somewhere(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(str(document.relative_to(ROOT))):
            links = [
                str(each.attrGet(name)) for each in tokens(document) for name in ("href", "src") if each.attrGet(name)
            ]
            assert links or document.name != "index.md"
            assert [(link, fault(document, link)) for link in links if fault(document, link)] == []


def test_paths_exist(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(str(document.relative_to(ROOT))):
            code = [each.content for each in tokens(document) if each.type in {"code_inline", "code_block", "fence"}]
            lines = [line for text in code for line in text.splitlines() if not re.search(r"[*{<]|NNNN", line)]
            paths = [path for line in lines for path in PATH.findall(line) if path.startswith(FOLDERS)]
            places = (ROOT, ROOT / "study-server", document.parent)
            assert [path for path in paths if not any((place / path.rstrip("/.")).exists() for place in places)] == []
