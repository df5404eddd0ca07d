# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents as the site that `make docs` makes."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from documents import documents, program_pages
from happe_docs import sbom
from happe_docs.manuals import ManualError, page, said
from happe_docs.site import tables_of_contents
from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "form": "action"}
STYLED = re.compile(r"""@import|url\(\s*["']?(?!data:|\#)(?:https?:)?//""")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site's folder. The generator's warnings are errors, and so are pages in no table of contents."""
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run([ROOT / "tools/docs.sh", folder], capture_output=True, check=False, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return folder / "html"


class Loads(HTMLParser):
    """The files that a page loads, the targets of its links, and whether it names its language."""

    def __init__(self) -> None:
        """Begin a page."""
        super().__init__()
        self.addresses: list[str] = []
        self.links: list[str] = []
        self.language = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag loads."""
        given = dict(attrs)
        self.addresses.append(given.get(LOADS.get(tag, ""), "") or "")
        self.links += [given["href"] or ""] if tag == "a" and "href" in given else []
        self.language = given.get("lang") or self.language if tag == "html" else self.language


def test_every_document_is_a_page(site: Path) -> None:
    names = {
        str(each.path.relative_to(ROOT / "docs")) for each in documents() if each.path.is_relative_to(ROOT / "docs")
    }
    assert {name for name in names if not (site / name).with_suffix(".html").is_file()} == set()


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for file in site.rglob("*.html"):
        page = Loads()
        page.feed(file.read_text(encoding="utf-8"))
        assert [
            each for each in page.addresses if urlsplit(each).netloc or urlsplit(each).scheme not in ("", "data")
        ] == []
        assert page.language == "en", file
    for file in site.rglob("*.css"):
        assert not STYLED.search(file.read_text(encoding="utf-8")), file


def test_no_link_is_dead(site: Path) -> None:
    """The test also follows links to files outside docs/."""
    for file in site.rglob("*.html"):
        page = Loads()
        page.feed(file.read_text(encoding="utf-8"))
        paths = [urlsplit(each).path for each in page.links if not urlsplit(each).scheme]
        assert [path for path in paths if path and not (file.parent / path).exists()] == [], file
    assert (site / "tree/profiles/README.html").is_file()


def test_the_site_has_a_search_of_its_own(site: Path) -> None:
    assert (site / "search.html").is_file()
    assert "uafp" in (site / "searchindex.js").read_text(encoding="utf-8")


def test_the_reference_has_every_option_of_every_program(site: Path) -> None:
    for each in program_pages():
        text = (site / f"reference/generated/{each.name}.html").read_text(encoding="utf-8")
        for path, options in each.commands.items():
            assert path in text
            assert [option for option in options if option not in text] == []


def test_the_reference_has_every_schema_and_operation(site: Path) -> None:
    folder = site / "reference/generated"
    schemas = unescape((folder / "schemas.html").read_text(encoding="utf-8"))
    for file in (ROOT / "profiles/schema").glob("*.json"):
        schema = json.loads(file.read_text(encoding="utf-8"))
        assert schema["title"] in schemas
        assert [name for name in schema.get("properties", {}) if name not in schemas] == []
    assert "/api/v1/runs/{code}/record/{client_id}" in (folder / "http.html").read_text(encoding="utf-8")
    assert "SetFocus" in (folder / "dbus-interface.html").read_text(encoding="utf-8")


def test_a_manual_page_becomes_markdown() -> None:
    option = {"names": ["-o", "--out"], "value": "FILE", "description": "Where it goes; * is a star, `*` code"}
    rest = {"choices": [], "limits": "", "default": "", "required": False, "repeated": False, "takes": "file"}
    below = {"options": [], "arguments": [], "commands": [], "runs": True}
    run = below | {"path": "tool run", "description": "Run it", "footer": 'Examples:\n  tool run "x" é'}
    tool = below | {"path": "tool", "description": "tool - Does it", "footer": "", "runs": False}
    told = {"section": 1, "version": "1", "more": "", "command": tool | {"options": [option | rest], "commands": [run]}}
    made = page(told)
    assert made.commands == {"tool": {"-o": True, "--out": True}, "tool run": {}}
    assert re.sub(r"\n+", "\n", made.markdown()).partition("## Options")[2].strip() == (
        "- `-o, --out FILE`\n  Where it goes; \\* is a star, `*` code\n## Commands\n### `tool run`\nRun it\nExamples:\n"
        '```text\ntool run "x" é\n```'
    )


def test_a_program_that_is_not_built_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ManualError, match="make build"):
        said(tmp_path / "happectl", "--describe")


def test_a_list_of_links_becomes_a_table_of_contents() -> None:
    tables = tables_of_contents(
        "# All\nText with [a link](x.md).\n\n## One\n\n- [A](a.md): first\n- [B](b/b.md#part)\n1. [C](c.md)\n"
    )
    assert tables.split("\n\n", 1)[1].split("\n") == ["a.md", "c.md", "```", ""]


def test_the_list_of_packages_is_cyclonedx_and_whole(tmp_path: Path) -> None:
    """It has everything that we pin or install, with a version. Making it again gives the same bytes."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert [sbom.main([str(first)]), sbom.main([str(second)])] == [0, 0]
    text = first.read_text(encoding="utf-8")
    assert text == second.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = {each["purl"].partition("?")[0]: each for each in json.loads(text)["components"]}
    pins = re.findall(
        r"^(\S+)==(\S+) ", (ROOT / "packaging/requirements.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert pins
    assert [pin for pin in pins if f"pkg:pypi/{pin[0]}@{pin[1]}" not in components] == []
    assert all(each["version"] and each["hashes"] for purl, each in components.items() if purl.startswith("pkg:pypi/"))
    scopes = {each["name"]: each["scope"] for each in components.values()}
    names = ("flask", "nptdms", "plotext", "pytest")  # the power logger's package has the second and third
    assert [scopes[name] for name in names] == ["required", "required", "required", "excluded"]
    assert any(purl.startswith("pkg:deb/debian/libsystemd-dev@") for purl in components)
    assert any(purl.startswith("pkg:npm/axe-core@") for purl in components)
