# SPDX-License-Identifier: GPL-2.0-or-later
"""The site's sources in one folder: the tree's documents as they are, and a reference that is made again each time."""

from __future__ import annotations

import json
import os.path
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from happe_docs import interfaces, manuals, schemas
from happe_study.app.assembly import create_app
from happe_study.base.config import SECRET_BYTES, Config, Secrets
from happe_study.operations import configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")  # shown with the documents, in project/
MADE = "reference/generated"
CONTENTS = ("index.md", "adr/README.md", "reference/README.md")  # whose lists are the site's table of contents

_LINK = re.compile(r"(?<=\]\()([^)\s:#]+)(?=[)#])")
_LISTED = re.compile(r"^(?:-|\d+\.) \[[^\]]*\]\(([^)#]+)\)", re.MULTILINE)


def assemble(root: Path, programs: Path, target: Path) -> None:
    """Fill `target`, which is emptied before. `programs`: the folder of the built ones. Raises ManualError, OSError."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "docs", target)
    for file in [*map(Path, ROOT_PAGES), *(each.relative_to(root) for each in (root / "docs").rglob("*.md"))]:
        _show(root, target, file)
    made = target / MADE
    made.mkdir()
    pages = {**_manuals(programs), **_contracts(root), **_server()}
    for name, text in pages.items():
        (made / f"{name}.md").write_text(text, encoding="utf-8")
    _append(target / "reference/README.md", "\n## The pages\n\n" + "".join(map(_entry, pages.items())))
    for contents in CONTENTS:
        _append(target / contents, tables_of_contents((target / contents).read_text(encoding="utf-8")))


def place(file: Path) -> Path:
    """Where the site has a file of the tree: what is not in docs/ below tree/."""
    if str(file) in ROOT_PAGES:
        return Path("project", file.name.lower())
    return file.relative_to("docs") if file.is_relative_to("docs") else Path("tree", file)


def _show(root: Path, target: Path, file: Path) -> None:
    """Write a file of the tree where the site has it. Of a document, the links follow, and so do files they lead to."""
    shown = target / place(file)
    shown.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix != ".md":
        shutil.copyfile(root / file, shown)
        return

    def followed(link: re.Match[str]) -> str:
        aim = Path(os.path.normpath(file.parent / link[1]))
        if place(aim).parts[0] == "tree" and not (target / place(aim)).exists():
            _show(root, target, aim)
        return os.path.relpath(place(aim), place(file).parent)

    orphan = "---\norphan: true\n---\n" if place(file).parts[0] == "tree" else ""
    shown.write_text(orphan + _LINK.sub(followed, (root / file).read_text(encoding="utf-8")), encoding="utf-8")


def tables_of_contents(text: str) -> str:
    """Sphinx's tables of contents for the links that are items of a page's lists: one for each of its sections."""
    tables = ""
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        pages = _LISTED.findall(section)
        caption = section.partition("\n")[0].removeprefix("# ")
        lines = ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
        tables += "\n".join(lines) if pages else ""
    return tables


def _entry(page: tuple[str, str]) -> str:
    name, text = page
    return f"- [{text.partition(chr(10))[0].removeprefix('# ')}](generated/{name}.md)\n"


def _append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def _manuals(programs: Path) -> dict[str, str]:
    return {page.name: f"# {page.name}\n{page.markdown()}" for page in manuals.pages(programs)}


def _contracts(root: Path) -> dict[str, str]:
    documents = [
        (json.loads(file.read_text(encoding="utf-8"))) for file in sorted((root / "profiles/schema").glob("*.json"))
    ]
    about = "The documents that cross a process, as in `profiles/schema`. A field with `[]` is each item's."
    parts = [f"## {schema['title']}\n\n{schemas.document(schema)}" for schema in documents]
    bus = interfaces.dbus(root / "profiles/dbus/org.happe.Governor1.xml")
    return {
        "schemas": "\n".join(["# Documents and their schemas\n", about, "", *parts]),
        "dbus-interface": f"# The D-Bus interface, member by member\n\n[What each is for](../../dbus.md).\n\n{bus}",
        "device-database": _database(root / "profiles/sql"),
    }


def _database(folder: Path) -> str:
    parts = ["# The device's database\n", "`/var/lib/happe/profiles.db`, as its migrations make it, in their order.\n"]
    for file in sorted(folder.glob("*.sql")):
        parts += [f"## {file.name}\n", f"```sql\n{file.read_text(encoding='utf-8')}```\n"]
    return "\n".join(parts)


def _server() -> Mapping[str, str]:
    secret = bytes(SECRET_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Config(data=Path(folder)), Secrets(secret, secret, secret))
        with app.app_context():
            document = json.loads(json.dumps(app.spec))
    written = configuration.written({"data": "/var/lib/happe-server"})
    options = f"[What each is for at length](../../study-server.md#options).\n\n```toml\n{written}```\n"
    return {
        "http": f"# The HTTP interface\n\n{interfaces.http(document)}",
        "server-toml": f"# server.toml\n\nAs `happe-server init` writes it: every option with its default.\n{options}",
    }
