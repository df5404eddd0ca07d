# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs power-profiles-daemon's own tests of its bus interface against happe-power-profiles and happed.

usage: /usr/bin/python3 tests/power_profiles_daemon.py

Nothing of power-profiles-daemon is in this tree. apt gets its source package and the packages for its tests into
build/power-profiles, from this Debian or from Debian 13. Lists the tests that apply and why others do not, and fails if
a test is in neither list. `tools/validate.sh profiles` calls this.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/power-profiles"
LIMIT_S = 1200  # for all tests under one name, which take one or two minutes on a quiet machine
SUITES = ("bookworm", "trixie")  # the first whose source package is complete
# Packages for the tests that `make setup` does not install. They are unpacked, not installed.
BINARIES = ("gir1.2-umockdev-1.0", "power-profiles-daemon")

APPLY = [
    "invalid_property", "inhibited_property", "hold_release_profile", "hold_priority", "vanishing_hold", "save_profile",
    "not_allowed_profile", "not_allowed_hold", "get_version_prop", "launch_arguments_redirection",
    "launch_sigint_wrapper", "launch_sigabrt_wrapper", "powerprofilesctl_version_command",
    "powerprofilesctl_list_command", "powerprofilesctl_set_get_commands", "powerprofilesctl_error",
]  # fmt: skip
# Features of these tests' powerprofilesctl that Debian 12's lacks.
NEWER = [
    "launch_arguments_invalid", "launch_with_command_failure", "launch_with_command_signaled", "unknown_action",
    "unknown_list_argument",
]  # fmt: skip
OTHERS = {
    "they test what its drivers write into /sys; HAPPE governs in their place": r"intel_pstate.*|amd_pstate.*|dytc_.*|"
    r"hp_wmi|quiet|multi_.*|driver_blocklist|platform_driver_.*|custom_acpi.*|degraded_transition|fake_driver|"
    r"no_performance_driver|save_deferred_load",
    "HAPPE has no actions": r"amdgpu_.*|.*trickle_charge.*|action_blocklist|powerprofilesctl_(configure|list)_actions?_"
    r"command",
    "HAPPE does not change the profile with the battery": r"powerprofilesctl_configure_battery_aware_command",
    "a name that is taken ends it with status 75, not 1 (tests/system/test_power_profiles.py)": r"dbus_startup_error",
}

# The command that the tests start: the program under test, with a happed that ends with it.
DAEMON = """#!/bin/sh
export LD_PRELOAD=
folder=$UMOCKDEV_DIR/happe
mkdir -p "$folder/input" "$folder/cpus/cpufreq"
echo 'mode = "observe"' >"$folder/happe.toml"
setpriv --pdeathsig KILL {bin}/happed --config="$folder/happe.toml" --database="$folder/p.db" --runs="$folder/runs" \\
    --found="$folder/found.json" --keys="$folder/keys" --device-key="$folder/key" --input="$folder/input" \\
    --cpus="$folder/cpus" 2>>{log} &
exec {bin}/happe-power-profiles --state="$UMOCKDEV_DIR/ppd_test_conf.ini" 2>>{log}
"""


def apt(suite: str, *command: str) -> bool:
    """Let apt-get read only one suite's sources, from this machine's archive. Return whether it can."""
    listed = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    archive = subprocess.run(listed, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0]
    place = FOLDER / suite
    (place / "lists/partial").mkdir(parents=True, exist_ok=True)
    (place / "sources.list").write_text(f"deb-src {archive} {suite} main\n")
    options = {"SourceList": place / "sources.list", "SourceParts": "/dev/null"}
    settings = [f"-oDir::Etc::{name}={value}" for name, value in options.items()]
    settings.append(f"-oDir::State::Lists={place}/lists")
    return subprocess.run(["apt-get", "-q", *settings, *command], check=False, cwd=place).returncode == 0


def source() -> Path:
    """Get the source package and unpack it."""
    for suite in SUITES:
        if apt(suite, "update") and apt(suite, "--download-only", "source", "power-profiles-daemon"):
            [packed] = (FOLDER / suite).glob("*.orig.tar.*")
            subprocess.run(["tar", "--extract", "--file", packed], check=True, cwd=FOLDER / suite)
            found = [each for each in (FOLDER / suite).glob("power-profiles-daemon-*") if each.is_dir()]
            if (found[0] / "tests/integration_test.py").is_file():
                return found[0]
    sys.exit("power_profiles_daemon: apt has no source package of power-profiles-daemon")


def prepare(tree: Path) -> dict[str, str]:
    """Put the program under test where the tests look for it. Return their environment."""
    subprocess.run(["apt-get", "-q", "download", *BINARIES], check=True, cwd=FOLDER)
    for deb in FOLDER.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", deb, FOLDER / "unpacked"], check=True)
    program = tree / "src/power-profiles-daemon"
    program.write_text(DAEMON.format(bin=ROOT / "build/bin", log=FOLDER / "programs.log"))
    program.chmod(0o755)
    (tree / "src/powerprofilesctl").chmod(0o755)
    [typelibs] = (FOLDER / "unpacked").glob("usr/lib/*/girepository-1.0")
    return os.environ | {
        "GI_TYPELIB_PATH": str(typelibs),
        "LD_PRELOAD": "libumockdev-preload.so.0",
        "PATH": f"/usr/bin:{os.environ['PATH']}",
        "PPD_LD_PRELOAD": "",
        "top_builddir": str(tree),
    }


def give_time(tree: Path) -> None:
    """Give a program that a test launches ten seconds to begin, instead of one.

    One is too short on a busy machine. The test then fails, but first it waits an hour for the program to end.
    """
    tests = tree / "tests/integration_test.py"
    tests.write_text(tests.read_text().replace("time.sleep(1)", "time.sleep(10)"))


def reason(test: str) -> str:
    """Why a test does not apply."""
    for why, names in OTHERS.items():
        if re.fullmatch(names, test):
            return why
    sys.exit(f"power_profiles_daemon: {test} is in neither list of this file")


def run(tree: Path, environment: dict[str, str], name: str, tests: list[str]) -> None:
    """Run these tests under one of the two names on the bus. `timeout` also ends the programs that they started."""
    command = ["timeout", str(LIMIT_S), "/usr/bin/python3", "-B", "tests/integration_test.py", "-v"]
    subprocess.run([*command, *(f"{name}.test_{test}" for test in tests)], check=True, cwd=tree, env=environment)


def main() -> None:
    """Run them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    # A shell's background job ignores this signal, and so would the programs that the tests send it to.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tree = source()
    give_time(tree)
    environment = prepare(tree)
    tests = list(dict.fromkeys(re.findall(r"    def test_(\w+)", (tree / "tests/integration_test.py").read_text())))
    others = {test: reason(test) for test in tests if test not in APPLY + NEWER}
    for why in OTHERS:
        print(f"do not apply, because {why}:", *(test for test, its in others.items() if its == why))
    lost = {*APPLY, *NEWER} - set(tests)
    if lost:
        sys.exit(f"power_profiles_daemon: {tree.name} has no test {', '.join(sorted(lost))}")
    print(f"of {tree.name} {len(APPLY + NEWER)} of {len(tests)} tests apply", flush=True)
    run(tree, environment, "Tests", APPLY + NEWER)
    # Then with the powerprofilesctl of Debian's own package, which knows only the older name.
    shutil.copy(FOLDER / "unpacked/usr/bin/powerprofilesctl", tree / "src/powerprofilesctl")
    run(tree, environment, "LegacyDBusNameTests", APPLY)


if __name__ == "__main__":
    main()
