# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the folder that the emulated T61 needs to run happe-power: the program, and its packages from build/venv.

usage: power_tree.py FOLDER       makes FOLDER again

The packages of build/venv are for Debian 12's Python, which the guest has. This program compiles them, because
compiling them in the guest would take longer than the tests. It leaves out what the power logger does not use.
"""

import compileall
import shutil
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Imports of the commands that the tests run: record, verify, sources.
PACKAGES = [
    "click", "jsonschema_rs", "numpy", "numpy.libs", "pyarrow", "tree_sitter", "tree_sitter_toml", "urllib3",
]  # fmt: skip
UNUSED = shutil.ignore_patterns(
    "__pycache__", "tests", "include", "src", "*.pxd", "*.pxi", "*.pyi", "*.pyx", "f2py", "distutils",
    "*flight*", "libarrow_s3*", "*gandiva*", "*_encryption*", "libarrow_python.so", "libarrow_python.so.2600.1.0",
)  # fmt: skip


def make(folder: Path, site: Path) -> None:
    """Copy and compile the packages. Exits if one is not in `site`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in PACKAGES:
        if not (site / name).exists():
            sys.exit(f"power_tree: {name} is not in {site}; run `make setup`")
        shutil.copytree(site / name, folder / name, ignore=UNUSED)
    shutil.copytree(ROOT / "power-logger/src/happe_power", folder / "happe_power", ignore=UNUSED)
    for name in ("happe_contract", "happe_cli"):
        shutil.copytree(ROOT / "profiles/python/src" / name, folder / name, ignore=UNUSED)
    if not compileall.compile_dir(folder, quiet=1, legacy=True, stripdir=str(folder)):
        sys.exit("power_tree: a package could not be compiled")
    for source in folder.rglob("*.py"):
        source.unlink()


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sysconfig.get_paths()["platlib"]))
