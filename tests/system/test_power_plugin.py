# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/how-to/own-instrument.md's example as a package outside the tree: install, record, upload, measure."""

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from patience import PATIENCE_S
from program import ROOT
from study_server import STUDY, StudyServer

pytestmark = pytest.mark.slow

EXAMPLE = (ROOT / "docs/how-to/own-instrument.md").read_text()
WATTS = 15.0


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Make a new environment with HAPPE, and let pip install the example into it. Return its interpreter."""
    project, environment = tmp_path / "example", tmp_path / "environment"
    project.mkdir()
    blocks = re.findall(r"^```(?:toml|python)\n(.*?)^```", EXAMPLE, re.MULTILINE | re.DOTALL)
    for name, text in zip(("pyproject.toml", "happe_hwmon.py", "test_hwmon.py"), blocks, strict=True):
        (project / name).write_text(text)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    [site] = environment.glob("lib/python3*/site-packages")
    (site / "happe.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    made = environment / "bin/python"
    pip = [
        str(made),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        str(project),
    ]
    subprocess.run(pip, check=True, timeout=PATIENCE_S)
    return made


@pytest.fixture
def server(tmp_path: Path) -> StudyServer:
    """A server that runs."""
    (tmp_path / "server").mkdir()
    return StudyServer(tmp_path / "server")


def test_a_kind_of_another_package_is_recorded_uploaded_and_measured(
    tmp_path: Path, python: Path, server: StudyServer
) -> None:
    sensor, config = tmp_path / "power1_input", tmp_path / "happe-power.toml"
    sensor.write_text(f"{WATTS * 1e6:.0f}\n")
    table = f'kind = "hwmon"\nplace = "{sensor}"\nrate = 50\nbandwidth = [0.5]\n'
    config.write_text(f'state = "state"\nkeep = "always"\n[record.source]\n{table}')

    def power(*arguments: str, status: tuple[int, ...] = (0,)) -> str:
        command = [str(python), "-m", "happe_power", "--config", str(config), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert ran.returncode in status, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    ran = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "example"], check=False)
    assert ran.returncode == 0
    assert '# a power sensor of the kernel\'s hwmon\nkind = "hwmon"' in power("sources", "--options")
    server.start()
    try:
        meter, laptop = (server.device(name, kind) for name, kind in (("bench", "meter"), ("t61", "laptop")))
        power("enrol", "--server", server.url, "--code", meter["enrolment_code"])
        power(
            "record", "--measured", laptop["device"], "--duration", "3s", status=(0, 1)
        )  # 1: a busy machine polls late
        [folder] = (tmp_path / "state/spool" / STUDY).glob("*")
        assert json.loads((folder / "header.json").read_bytes())["source"]["kind"] == "hwmon"
        assert (folder / "seal.json").exists()
        assert server.digests(folder.name)
        measured = json.loads(power("measure", str(folder), "--least-coverage", "50", "--json"))
        assert measured["mean_w"] == pytest.approx(WATTS)
    finally:
        server.stop()

    config.write_text(config.read_text().replace("rate = 50", "rate = 500"))
    said = power("record", "--no-upload", status=(78,))
    assert said.startswith(f"happe-power: {config}:6: record.source.rate: must be at most 100\n")
