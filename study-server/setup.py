# SPDX-License-Identifier: GPL-2.0-or-later
"""The build step of the study server's wheel: profiles/schema goes into it as happe_study/schema.

Everything else is in pyproject.toml. A wheel is built from the whole tree (`pip wheel study-server/`). A source
distribution takes the schemas along in its own folder `schema`, so that a wheel can be built from it too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup  # type: ignore[import-untyped]
from setuptools.command.build_py import build_py  # type: ignore[import-untyped]
from setuptools.command.sdist import sdist  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parent
SCHEMAS = next((folder for folder in (HERE / "schema", HERE.parent / "profiles/schema") if folder.is_dir()), None)


def copy_schemas(target: Path) -> list[str]:
    """Copy every schema into the folder `target`; the copies' paths."""
    if SCHEMAS is None:
        raise FileNotFoundError("neither schema/ nor ../profiles/schema is here: build from the whole tree")
    target.mkdir(parents=True, exist_ok=True)
    return [str(shutil.copy(schema, target)) for schema in sorted(SCHEMAS.glob("*.schema.json"))]


class BuildWithSchemas(build_py):  # type: ignore[misc]
    """build_py, and the schemas beside the package's modules. An editable install reads them in the tree."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            copy_schemas(Path(self.build_lib) / "happe_study/schema")

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:  # noqa: FBT001, FBT002 - setuptools' signature
        """What a build leaves, with the schemas."""
        names = [] if SCHEMAS is None else [schema.name for schema in sorted(SCHEMAS.glob("*.schema.json"))]
        outputs: list[str] = super().get_outputs(include_bytecode)
        return outputs + [str(Path(self.build_lib) / "happe_study/schema" / name) for name in names]


class DistributeWithSchemas(sdist):  # type: ignore[misc]
    """sdist, and the schemas in `schema`."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Make the tree, then copy."""
        super().make_release_tree(base_dir, files)
        copy_schemas(Path(base_dir) / "schema")


setup(cmdclass={"build_py": BuildWithSchemas, "sdist": DistributeWithSchemas})
