# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated T61's image: built once for its inputs, whole or not at all."""

import lzma
import struct
from pathlib import Path

import pytest

import image


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Folders in which an image was made; making one takes no time here."""
    folders: list[Path] = []

    def make(folder: Path, packages: list[str]) -> None:
        assert ("sway" in packages) == folder.name.startswith("desktops-")
        folders.append(folder)
        (folder / "root.cpio").write_text("whole")

    monkeypatch.setattr(image, "BUILD", tmp_path)
    monkeypatch.setattr(image, "make", make)
    return folders


def test_an_image_that_is_there_is_not_built_again(made: list[Path]) -> None:
    first = image.build()
    second = image.build()
    assert first == second
    assert len(made) == 1
    assert first.root.read_text() == "whole"


def test_an_interrupted_build_is_no_image_and_the_next_one_clears_it(
    made: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def killed(folder: Path, _: list[str]) -> None:
        (folder / "root.cpio").write_text("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(image, "make", killed)
        with pytest.raises(KeyboardInterrupt):
            image.build()
    assert image.build().root.read_text() == "whole"
    assert len(made) == 1
    assert len(list(tmp_path.glob("image-*"))) == 1


def test_an_image_of_other_inputs_goes(made: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = image.build()
    monkeypatch.setattr(image, "key_of", lambda _: "another")
    second = image.build()
    assert len(made) == 2
    assert not first.folder.exists()
    assert second.folder.exists()


def test_the_image_with_desktops_is_built_beside_the_other(made: list[Path]) -> None:
    plain = image.build()
    desktops = image.build(desktops=True)
    assert (image.build(), image.build(desktops=True)) == (plain, desktops)
    assert len(made) == 2


@pytest.mark.parametrize("change", ["content", "name", "permission", "another"])
def test_every_change_of_an_input_is_another_image(
    change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(image, "HERE", tmp_path)
    file = tmp_path / "a"
    file.write_text("one")
    before = image.key_of([file])
    files = [file]
    match change:
        case "content":
            file.write_text("two")
        case "name":
            files = [file.rename(tmp_path / "b")]
        case "permission":
            file.chmod(0o755)
        case _:
            (tmp_path / "b").write_text("one")
            files.append(tmp_path / "b")
    assert image.key_of(files) != before


def test_the_kernel_is_unpacked_from_where_its_header_says() -> None:

    payload = lzma.compress(b"\x7fELF and so on")
    bzimage = bytearray(2 * 512 + 100)
    bzimage[0x1F1] = 1
    struct.pack_into("<II", bzimage, 0x248, 100, len(payload))
    assert image.unpacked(bytes(bzimage) + payload + b"more") == b"\x7fELF and so on"
