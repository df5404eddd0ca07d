# SPDX-License-Identifier: GPL-2.0-or-later
"""Build the emulated T61's image: Debian 12's stock kernel, a root file system, and the firmware's table.

usage: image.py       prints the image's folder, build/vm/image-KEY

KEY is a hash over everything the image is made from here; an existing image is not built again. The packages come
from this machine's own apt sources. Needs root, user namespaces (newuidmap), or sudo.
"""

import fcntl
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import per_cpu_table

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/vm"
FROM_DEBIAN = HERE.parents[1] / "packaging/python-from-debian.toml"
SAID_TAIL = 30

# Beyond a minimal Debian.
PACKAGES = [
    # the system
    "usr-is-merged", "systemd", "systemd-sysv", "udev", "dbus", "polkitd", "libpam-systemd", "kmod", "procps",
    # the tests and their tools
    "python3-pytest", "python3-pytest-timeout", "python3-evdev",
    # what HAPPE's programs are linked with
    "libevdev2", "libcpupower1", "libsystemd0", "libfmt9", "libsqlite3-0", "libstdc++6", "libtomlplusplus3",
    "libsodium23",
    # what the power logger reads measuring cards with
    "libcomedi0",
    # Python's libraries, which HAPPE's packages depend on
    *sorted({depends.split()[0] for depends in tomllib.loads(FROM_DEBIAN.read_text(encoding="utf-8"))["12"].values()}),
]  # fmt: skip
MODULES = [
    "acpi-cpufreq", "cpufreq_ondemand", "cpufreq_userspace", "cpufreq_conservative", "cpufreq_powersave", "msr",
    "evdev", "uinput", "battery", "ac", "button",
    "virtio_pci", "virtio_blk", "virtio-rng", "autofs4",
    "comedi", "comedi_test",
]  # fmt: skip
# Units that cost time and that nothing here needs.
MASKED = [
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service",
    "fstrim.timer", "systemd-tmpfiles-clean.timer", "systemd-pstore.service", "systemd-update-utmp.service",
    "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "systemd-remount-fs.service",
    "systemd-random-seed.service", "systemd-modules-load.service", "modprobe@.service", "sys-fs-fuse-connections.mount",
    "dev-hugepages.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "getty@tty1.service",
]  # fmt: skip
# Files beside this script, and where they lie in the system.
OURS = {
    "vm.conf": "etc/systemd/logind.conf.d",
    "vm-run.service": "etc/systemd/system",
    "vm-install": "usr/local/sbin",
    "vm-run": "usr/local/sbin",
}
NEVER_UNPACKED = ["usr/share/doc", "usr/share/locale", "usr/share/man"]
UNWANTED = [
    *NEVER_UNPACKED, "usr/lib/udev/hwdb.d", "usr/lib/x86_64-linux-gnu/gconv",
    "usr/share/bug",
    "usr/share/i18n", "usr/share/info", "usr/share/lintian", "usr/share/perl5", "usr/share/zoneinfo",
    "var/cache", "var/lib/apt",
]  # fmt: skip

# Runs as root of the new system, whose folder is $1.
FINISH = """set -eu
cd "$1"
chroot . depmod @version@
chroot . systemctl --quiet mask @masked@
chroot . systemctl --quiet enable vm-run.service
chroot . passwd -q -d root
for user in alice bob; do
    chroot . useradd --create-home --shell /bin/bash "$user"
    chroot . passwd -q -d "$user"
done
echo t61 >etc/hostname
echo 0123456789abcdef0123456789abcdef >etc/machine-id
mkdir -p etc/systemd/system-generators
for generator in lib/systemd/system-generators/*; do
    case $generator in *-getty-* | *-debug-*) continue ;; esac
    ln -s /dev/null "etc/systemd/system-generators/${generator##*/}"
done
rm -rf @unwanted@
# bsdtar leaves a file empty under its second name.
find . -xdev -type f -links +1 -printf '%i %p\\n' | sort -n | while read -r number name; do
    if [ "$number" = "${last-}" ]; then ln -sfr "$first" "$name"; else last=$number first=$name; fi
done
ln -s sbin/init init
"""

BOOT_SECTOR = 512


@dataclass(frozen=True)
class Image:
    """What QEMU boots."""

    folder: Path

    @property
    def kernel(self) -> Path:
        """Boots at once, but can't wake from sleep."""
        return self.folder / "vmlinux"

    @property
    def packed_kernel(self) -> Path:
        """Takes seconds more to unpack itself, and wakes from sleep."""
        return self.folder / "vmlinuz"

    @property
    def root(self) -> Path:
        """The root file system, a cpio that the kernel unpacks into memory: every boot begins afresh."""
        return self.folder / "root.cpio"

    @property
    def table(self) -> Path:
        """The firmware's table."""
        return self.folder / "t61.aml"

    @property
    def per_cpu_table(self) -> Path:
        """The firmware's table for eight processors with a policy each."""
        return self.folder / "per_cpu.aml"


def inputs() -> list[Path]:
    """Everything here that goes into the image."""
    return [Path(__file__), HERE / "t61.asl", HERE / "per_cpu_table.py", FROM_DEBIAN, *(HERE / name for name in OURS)]


def key_of(files: Iterable[Path]) -> str:
    """Hash of the files' names, permissions and contents."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{os.path.relpath(file, HERE)}\0{os.access(file, os.X_OK)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def run(*command: str | Path, given: str = "", folder: Path | None = None) -> str:
    """Standard output of a command that must succeed: else the end of what it said is shown, and no image is made."""
    ended = subprocess.run(command, check=False, input=given, capture_output=True, text=True, cwd=folder)
    if ended.returncode:
        said = (ended.stdout + ended.stderr).splitlines()[-SAID_TAIL:]
        sys.exit("\n".join([*said, f"image: {command[0]} failed with {ended.returncode}"]))
    return ended.stdout


def debian_sources() -> list[str]:
    """List this machine's sources of Debian 12, a line each; other sources have no say in the image."""
    wanted = "$(ORIGIN) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)"
    found = [
        line.split() for line in run("apt-get", "indextargets", "--format", wanted, "Created-By: Packages").splitlines()
    ]
    lines = [
        f"deb {uri} {suite} {component}"
        for origin, codename, uri, suite, component in (fields for fields in found if len(fields) == 5)  # noqa: PLR2004 - as wanted
        if origin == "Debian" and codename.startswith("bookworm")
    ]
    if not lines:
        sys.exit("image: apt knows no source of Debian 12 (bookworm); is there one, and was `apt-get update` run?")
    return lines


def apt_options() -> list[str]:
    """How this machine's apt fetches: proxies, and checks that are off for a frozen mirror."""
    kept = ("Acquire::http", "Acquire::https", "Acquire::Check-", "Acquire::Retries")
    settings = [line for line in run("apt-config", "dump", "Acquire").splitlines() if line.startswith(kept)]
    return [f"--aptopt={line}" for line in settings if not line.endswith(' "";')]


def unpacked(bzimage: bytes) -> bytes:
    """The ELF kernel inside a Debian bzImage (x86, XZ); fields of the x86 boot protocol's header."""
    setup_sectors = bzimage[0x1F1]
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (setup_sectors + 1) * BOOT_SECTOR + offset
    return lzma.LZMADecompressor().decompress(bzimage[start : start + length])


def fetch_kernel(folder: Path) -> tuple[Path, str]:
    """Debian's kernel package, unpacked under `folder`, and its version."""
    depends = run("apt-cache", "depends", "linux-image-amd64").splitlines()
    package = next(line.split()[1] for line in depends if line.strip().startswith("Depends:"))
    version = package.removeprefix("linux-image-")
    as_caller = ["-o", "APT::Sandbox::User=root"]  # the folder isn't open to root's usual stand-in
    run("apt-get", "-qq", *as_caller, "download", package, folder=folder)
    (deb,) = folder.glob(f"{package}_*.deb")
    tree = folder / package
    run("dpkg-deb", "-x", deb, tree)
    run("/sbin/depmod", "-b", tree, version)
    return tree, version


def needed_modules(tree: Path, version: str) -> list[str]:
    """The modules asked for and those they depend on, as paths in the tree."""
    shown = [run("/sbin/modprobe", "-d", tree, "-S", version, "--show-depends", name) for name in MODULES]
    loaded = [line.split()[1] for text in shown for line in text.splitlines() if line.startswith("insmod")]
    return sorted({Path(path).relative_to(tree).as_posix() for path in loaded})


def by_root(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Give a file in an archive to root, as its installation would; leave caches out."""
    if Path(info.name).name == "__pycache__":
        return None
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def pack_additions(tree: Path, version: str, tar: Path) -> None:
    """What is added to Debian's files: kernel modules and our own files."""
    lists = [f"lib/modules/{version}/modules.{name}" for name in ("builtin", "builtin.modinfo", "order")]
    with tarfile.open(tar, "w") as archive:
        for name in [*needed_modules(tree, version), *lists]:
            archive.add(tree / name, f"usr/{name}", filter=by_root)
        for name, folder in OURS.items():
            archive.add(HERE / name, f"{folder}/{name}", filter=by_root)


def privilege() -> list[str]:
    """What mmdebstrap's command begins with, so that it may make a system of root's files."""
    if os.geteuid() == 0:
        return []
    try_namespaces = ["unshare", "--user", "--map-auto", "--map-root-user", "true"]
    if subprocess.run(try_namespaces, check=False, capture_output=True).returncode == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    sys.exit("image: be root, or allow user namespaces (and install uidmap), or install sudo")


def make_root(version: str, additions: Path, tar: Path) -> None:
    """Debian's minimal system with the packages and the additions."""
    words = {"version": version, "masked": MASKED, "unwanted": UNWANTED}
    finish = FINISH
    for name, value in words.items():
        finish = finish.replace(f"@{name}@", value if isinstance(value, str) else " ".join(value))
    options = [
        "--quiet", "--variant=minbase", "--format=tar", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
        "--include=" + ",".join(PACKAGES), '--aptopt=Apt::Install-Recommends "false"', *apt_options(),
        *[f"--dpkgopt=path-exclude=/{folder}/*" for folder in NEVER_UNPACKED],
        f"--customize-hook=tar-in {additions} /", f"--customize-hook={finish.strip()}",
    ]  # fmt: skip
    sources = "\n".join(debian_sources()) + "\n"
    command = [*privilege(), "mmdebstrap", *options, "bookworm", str(tar), "-"]
    run(*command, given=sources)


def make(folder: Path) -> None:
    """Make every file of the image in `folder`."""
    image = Image(folder)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        scratch = Path(name)
        tree, version = fetch_kernel(scratch)
        shutil.copy(tree / f"boot/vmlinuz-{version}", image.packed_kernel)
        image.kernel.write_bytes(unpacked(image.packed_kernel.read_bytes()))
        pack_additions(tree, version, scratch / "additions.tar")
        make_root(version, scratch / "additions.tar", scratch / "root.tar")
        run("bsdtar", "-cf", image.root, "--format", "newc", f"@{scratch}/root.tar")
        run("iasl", "-p", image.table.with_suffix(""), HERE / "t61.asl")
        (scratch / "per_cpu.asl").write_text(per_cpu_table.table())
        run("iasl", "-p", image.per_cpu_table.with_suffix(""), scratch / "per_cpu.asl")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One builder at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build() -> Image:
    """Return the image; made if it isn't there. Images of other inputs go, as do the ruins of an interrupted build."""
    folder = BUILD / f"image-{key_of(inputs())}"
    with locked(BUILD):
        if folder.is_dir():
            return Image(folder)
        for old in BUILD.glob("image-*"):
            shutil.rmtree(old)
        partial = folder.with_suffix(".partial")
        partial.mkdir()
        begin = time.monotonic()
        sys.stderr.write(f"image: building {folder}\n")
        make(partial)
        partial.rename(folder)
        size = sum(file.stat().st_size for file in folder.iterdir()) >> 20
        sys.stderr.write(f"image: {size} MiB in {time.monotonic() - begin:.0f} s\n")
    return Image(folder)


if __name__ == "__main__":
    print(build().folder)
