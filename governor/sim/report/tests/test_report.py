# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of real simulated studies: its numbers are study.json's, its marks the traces', its markup is sound."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import html5lib
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Simulate = Callable[..., Path]

pytestmark = pytest.mark.slow

REPORT = Path(__file__).resolve().parents[1] / "report.py"
SVG = "{http://www.w3.org/2000/svg}"
SEED = 2008
PARTICIPANTS = 5
A3_PARTICIPANTS = 3
CONTRAST_TEXT = 4.5  # WCAG 2.2, success criterion 1.4.3
LADDER_KHZ = (800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000)

Json = dict[str, Any]


def report(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the report as its users do."""
    return subprocess.run(
        [sys.executable, REPORT, *words], check=False, capture_output=True, text=True, env={**os.environ, **environment}
    )


@dataclass(frozen=True)
class Page:
    """A report and what it was made of."""

    paper: Path
    a3: Path
    out: Path
    html: ET.Element

    @property
    def study(self) -> Json:
        """The paper protocol's study.json."""
        document: Json = json.loads((self.paper / "study.json").read_text())
        return document

    def runs(self, folder: Path) -> list[dict[str, str]]:
        """Return runs.csv as dictionaries."""
        with (folder / "runs.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def section(self, anchor: str) -> ET.Element:
        """Return the section whose heading has this id."""
        return next(one for one in self.html.iter("section") if one.get("aria-labelledby") == anchor)

    def svg(self, key: str) -> ET.Element:
        """Return a figure's file, parsed."""
        return read_svg(self.out / f"{key}.svg")


def read_svg(path: Path) -> ET.Element:
    """Parse an SVG file."""
    return ET.parse(path).getroot()


def parse(path: Path) -> ET.Element:
    """Parse HTML, refusing what the standard calls a parse error."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    with path.open("rb") as file:
        document: ET.Element = parser.parse(file, transport_encoding="utf-8")
    return document


@pytest.fixture(scope="module")
def page(simulate: Simulate, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Both protocols with few participants, and the page made of them."""
    folder = tmp_path_factory.mktemp("report")
    paper = simulate(folder / "paper", "paper", PARTICIPANTS)
    a3 = simulate(folder / "a3", "a3", A3_PARTICIPANTS)
    made = report(paper, a3, folder / "out")
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    return Page(paper, a3, folder / "out", parse(folder / "out" / "report.html"))


def text(element: ET.Element) -> str:
    """Return an element's text with single spaces."""
    return " ".join("".join(element.itertext()).split())


def printed(value: float | None, digits: int = 2) -> str:
    """Return a number as a reader would round it, with a true minus."""
    if value is None:
        return "\N{EN DASH}"
    rounded = f"{value:.{digits}f}"
    return rounded.lstrip("-") if float(rounded) == 0 else rounded.replace("-", "\u2212")


def is_outside(figure: Json) -> bool:
    """Whether a figure of study.json is further from the paper than its tolerance."""
    return "paper" in figure and abs(figure["ours"] - figure["paper"]) > figure["tolerance"]


def three(figure: Json) -> list[str]:
    """Return the three cells a figure is printed in."""
    difference = figure["ours"] - figure["paper"] if "paper" in figure else None
    shown = printed(difference)
    if difference is not None and float(f"{difference:.2f}") > 0:
        shown = "+" + shown
    if is_outside(figure):
        shown += f" ! (out of tolerance: ±{printed(figure['tolerance'])})"
    return [printed(figure["ours"]), printed(figure.get("paper")), shown]


def rows(section: ET.Element) -> dict[str, list[str]]:
    """Return a table's rows by their headers; those in groups by `group/header`."""
    found = {}
    for body in section.iter("tbody"):
        group = ""
        for row in body.iter("tr"):
            header = next(row.iter("th"))
            if header.get("scope") == "rowgroup":
                group = text(header) + "/"
            else:
                found[group + text(header)] = [text(cell) for cell in row.iter("td")]
    return found


def percent(value: float | None) -> str:
    """Return a share as printed."""
    return "\N{EN DASH}" if value is None else f"{printed(value, 1)} %"


def test_table_a1_is_study_json_to_the_printed_digit(page: Page) -> None:
    table = rows(page.section("table-a1"))
    assert len(table) == len(page.study["cells"])
    for cell in page.study["cells"]:
        row = table[f"{cell['application']}/{cell['condition']}"]
        figures = ("power_mean_w", "power_sd_w", "rating_mean", "rating_sd")
        assert row[:12] == [shown for name in figures for shown in three(cell[name])]
        assert row[12] == printed(cell["saving_percent"])
        assert row[15] == percent(cell["oracle_share_percent"])


def test_the_papers_savings_follow_from_its_powers(page: Page) -> None:
    table = rows(page.section("table-a1"))
    assert table["torcs/O-HAPPE"][13] == printed(100 * (1 - 32.72 / 39.46))
    assert table["torcs/oracle"][13] == printed(None)


def test_totals_are_study_jsons(page: Page) -> None:
    table = rows(page.section("savings"))
    assert {total["condition"] for total in page.study["totals"]} == set(table)
    for total in page.study["totals"]:
        expected = [*three(total["saving_percent"]), percent(total["oracle_share_percent"])]
        assert table[total["condition"]] == expected


def test_table_a3_is_study_jsons(page: Page) -> None:
    table = rows(page.section("table-a3"))
    columns = ("training_performance", "training_power", "operating_performance", "operating_power")
    for row in page.study["presses"]:
        expected = [shown for name in columns for shown in three(row[f"{name}_per_min"])]
        assert table[row["application"]] == expected


def test_groups_are_study_jsons(page: Page) -> None:
    table = rows(page.section("groups"))
    words = {"EECS": "EECS majors", "other": "other majors"}
    for group in page.study["groups"]:
        figure = {"ours": group["saving_percent"], "paper": group["paper_percent"], "tolerance": 1e9}
        assert table[words.get(group["group"], group["group"])] == three(figure)


def compared(study: Json) -> list[Json]:
    """Return all figures of study.json that stand beside the paper's."""
    found: list[Json] = []

    def collect(value: object) -> None:
        if isinstance(value, dict) and "tolerance" in value:
            found.append(value)
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                collect(inner)

    for part in ("cells", "totals", "presses"):
        collect(study[part])
    return found


def test_every_figure_out_of_tolerance_is_marked_and_no_other(page: Page) -> None:
    outside = [figure for figure in compared(page.study) if is_outside(figure)]
    marked = [cell for cell in page.html.iter("td") if cell.get("class") == "out"]
    assert len(marked) == len(outside) > 0
    assert all(" !" in text(cell) for cell in marked)
    listed = rows(page.section("outside"))
    assert len(listed) == len(outside)
    shares = [int(row[-1].removesuffix(" %")) for row in listed.values()]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) >= 100


def test_the_summary_states_savings_verdict_provenance_seed_and_commands(page: Page) -> None:
    everything = text(page.html)
    study = page.study
    total = next(total for total in study["totals"] if total["condition"] == "O-HAPPE")
    within = sum(not is_outside(figure) for figure in compared(study))
    assert f"{printed(total['saving_percent']['ours'])} % of ondemand's power" in everything
    assert f"{percent(total['oracle_share_percent'])} of the saving of an oracle" in everything
    assert f"{within} of {len(compared(study))}" in everything
    worst = study["worst"]
    assert f"Worst: {worst['name']}: {printed(worst['ours'])}, in the paper {printed(worst['paper'])}" in everything
    quoted = [text(quote) for quote in page.html.iter("q")]
    assert quoted == [study["provenance"]]
    commands = [text(code) for code in page.html.iter("code")]
    assert commands == [
        f"happe-sim study --protocol paper --participants {PARTICIPANTS} --seed {SEED} --out paper",
        f"happe-sim study --protocol a3 --participants {A3_PARTICIPANTS} --seed {SEED} --out a3",
        "governor/sim/report/report.py paper a3 report",
    ]


FIGURES = [
    *(f"figure-a1-{name}" for name in ("torcs", "quake3", "glest", "trackballs")),
    *("figure-a3", "figure-a3-narrow", "figure-a4-power", "figure-a4-rating"),
    *("figure-a5-torcs", "figure-a5-quake3"),
]


def test_every_figure_is_a_file_and_in_the_page_with_title_and_description(page: Page) -> None:
    files = {path.stem for path in page.out.glob("*.svg")}
    assert set(FIGURES) < files
    assert len([name for name in files if name.startswith("figure-uafp-")]) == 3
    inline = {svg.get("aria-labelledby", "").split("-title")[0]: svg for svg in page.html.iter(f"{SVG}svg")}
    assert set(inline) == files
    for key in files:
        for svg in (inline[key], page.svg(key)):
            assert svg.get("role") == "img"
            for name in ("title", "desc"):
                element = svg.find(f"{SVG}{name}")
                assert element is not None
                assert element.get("id") == f"{key}-{name}"
                assert text(element)
            assert "simulated" in text(svg[0])


def test_captions_say_that_it_is_simulated_and_every_figure_has_its_data(page: Page) -> None:
    figures = [one for one in page.html.iter("section") if one.find("figure") is not None]
    assert len(figures) == 5
    for section in figures:
        caption = next(section.iter("figcaption"))
        assert f"imulated; seed {SEED}." in text(caption)
        assert len(list(next(section.iter("details")).iter("tr"))) > 3


def test_markup_is_accessible(page: Page) -> None:
    assert page.html.get("lang") == "en"
    levels = [int(element.tag[1]) for element in page.html.iter() if re.fullmatch("h[1-6]", str(element.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in page.html.iter("table"):
        assert text(next(table.iter("caption")))
        assert all(cell.get("scope") for cell in table.iter("th"))


def test_ids_are_unique_and_references_resolve(page: Page) -> None:
    ids = [element.get("id") for element in page.html.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for element in page.html.iter():
        for name, value in element.attrib.items():
            for reference in re.findall(r"url\(#([^)]+)\)", value) + re.findall(r"^#(.+)", value):
                assert reference in ids, (element.tag, name)
            if name in {"aria-labelledby", "aria-describedby"}:
                assert set(value.split()) <= set(ids)


@pytest.mark.parametrize("name", ["report.html", "figure-a3.svg", "figure-a1-torcs.svg"])
def test_nothing_is_loaded_from_anywhere(page: Page, name: str) -> None:
    path = page.out / name
    root = parse(path) if path.suffix == ".html" else read_svg(path)
    loading = {"src", "href", "srcset", "data", "poster", "action", "{http://www.w3.org/1999/xlink}href"}
    for element in root.iter():
        assert str(element.tag).rpartition("}")[2] not in {"script", "iframe", "object", "embed", "img", "image"}
        for attribute, value in element.attrib.items():
            if attribute in loading:
                assert value.startswith("#") or value == "data:,"
            assert not attribute.startswith("on")
        if str(element.tag).endswith("style"):
            assert "@import" not in text(element)
            assert "url(" not in text(element)
    assert b"http" not in path.read_bytes().replace(b"http://www.w3.org/2000/svg", b"").replace(b"http-equiv", b"")


def points(element: ET.Element) -> list[tuple[float, float]]:
    """Return the vertices of the first path in a group, in points; y grows downwards."""
    path = next(one for one in element.iter(f"{SVG}path") if "L" in one.get("d", ""))
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (-?[\d.]+) (-?[\d.]+)", path.get("d", ""))]


def group(svg: ET.Element, name: str) -> ET.Element | None:
    """Return the group with this id."""
    return next((one for one in svg.iter(f"{SVG}g") if one.get("id") == name), None)


def drawn(svg: ET.Element, name: str) -> ET.Element:
    """Return the group with this id, which must be there."""
    found = group(svg, name)
    assert found is not None, name
    return found


def marks(element: ET.Element) -> list[tuple[float, float]]:
    """Return where a group's marks stand."""
    return [(float(use.get("x", "nan")), float(use.get("y", "nan"))) for use in element.iter(f"{SVG}use")]


def is_linear(values: Sequence[float], places: Sequence[float]) -> bool:
    """Whether the places on the page are the values on some linear scale, to a few hundredths of a point."""
    low, high = values.index(min(values)), values.index(max(values))
    if values[low] == values[high]:
        return max(places) - min(places) < 0.05
    scale = (places[high] - places[low]) / (values[high] - values[low])
    return all(abs(places[low] + scale * (v - values[low]) - p) < 0.05 for v, p in zip(values, places, strict=True))


def read_trace(folder: Path, number: int, application: str, condition: str) -> list[Json]:
    """Return a trace's observations."""
    path = folder / "traces" / f"participant-{number:02}-{application}-{condition}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def chosen_training(page: Page) -> int:
    """Return the participant whom Figure A.3's rule chooses."""
    runs = [run for run in page.runs(page.paper) if run["application"] == "torcs" and run["condition"] == "T-HAPPE"]
    good = [run for run in runs if int(run["performance_presses"]) >= 3 and int(run["power_presses"]) >= 1]
    busiest = max(runs, key=lambda run: int(run["performance_presses"]) + int(run["power_presses"]))
    return int((good or [busiest])[0]["participant"])


@pytest.mark.parametrize("key", ["figure-a3", "figure-a3-narrow"])
def test_figure_a3_draws_each_press_and_each_sample_of_the_chosen_trace(page: Page, key: str) -> None:
    number = chosen_training(page)
    assert f"Shown is participant {number}," in text(page.section("figure-a3"))
    lines = read_trace(page.paper, number, "torcs", "T-HAPPE")
    svg = page.svg(key)

    for name in ("performance", "power"):
        times = [press["t_us"] for line in lines for press in line["keys"] if press["key"] == name]
        counted = [t for i, t in enumerate(times) if i == 0 or t - times[i - 1] >= 1_000_000]
        presses, repeats = group(svg, f"{key}-data-presses-{name}"), group(svg, f"{key}-data-repeats-{name}")
        assert len(marks(presses) if presses is not None else []) == len(counted)
        assert len(marks(repeats) if repeats is not None else []) == len(times) - len(counted)

    for cpu in (0, 1):
        curve = points(drawn(svg, f"{key}-data-cpu{cpu}"))
        assert is_linear([line["t_us"] for line in lines], [x for x, _ in curve])
        assert is_linear([line["policies"][0]["util_ppm"][cpu] for line in lines], [y for _, y in curve])

    steps = points(drawn(svg, f"{key}-data-frequency"))
    levels = [y for (_, y), _ in zip(steps[2::2], lines, strict=True)]
    assert is_linear([LADDER_KHZ.index(line["policies"][0]["cur_khz"]) for line in lines], levels)


def test_figure_a1_draws_each_rating_and_utilisation(page: Page) -> None:
    runs = sorted(page.runs(page.a3), key=lambda run: run["condition"])
    for application in ("torcs", "quake3", "glest", "trackballs"):
        key = f"figure-a1-{application}"
        svg = page.svg(key)
        for number in range(1, A3_PARTICIPANTS + 1):
            own = [run for run in runs if run["application"] == application and run["participant"] == str(number)]
            rating = marks(drawn(svg, f"{key}-data-rating-{number}"))
            busy = marks(drawn(svg, f"{key}-data-utilisation-{number}"))
            assert len(rating) == len(busy) == 5
            assert is_linear([float(run["rating"]) for run in own], [y for _, y in rating])
            assert is_linear([float(run["utilisation"]) for run in own], [y for _, y in busy])
            assert f"{number}: {own[0]['category']}" in text(svg)


def test_figure_a4_draws_each_users_mean_and_deviation(page: Page) -> None:
    for quantity, column in (("power", "power_mean_w"), ("rating", "rating")):
        key = f"figure-a4-{quantity}"
        svg = page.svg(key)
        means, places = [], []
        for condition in ("ondemand", "O-HAPPE"):
            for number in range(1, PARTICIPANTS + 1):
                runs = page.runs(page.paper)
                own = [run for run in runs if run["participant"] == str(number) and run["condition"] == condition]
                means.append(sum(float(run[column]) for run in own) / len(own))
            places += [x for x, _ in marks(drawn(svg, f"{key}-data-means-{condition}"))]
            bars = drawn(svg, f"{key}-data-bars-{condition}")
            assert len(list(bars.iter(f"{SVG}path"))) == PARTICIPANTS
        assert is_linear(means, places)


def test_figure_a5_draws_the_sampled_frequencies(page: Page) -> None:
    found = re.search(r"Shown is participant (\d+),", text(page.section("figure-a5")))
    assert found
    for application in ("torcs", "quake3"):
        key = f"figure-a5-{application}"
        for condition in ("ondemand", "O-HAPPE"):
            lines = read_trace(page.paper, int(found[1]), application, condition)
            steps = points(drawn(page.svg(key), f"{key}-data-frequency-{condition}"))
            levels = [y for (_, y), _ in zip(steps[2::2], lines, strict=True)]
            assert is_linear([LADDER_KHZ.index(line["policies"][0]["cur_khz"]) for line in lines], levels)


def test_uafp_charts_draw_ten_levels_of_three_participants(page: Page) -> None:
    power = {
        number: sum(
            float(run["power_mean_w"])
            for run in page.runs(page.paper)
            if run["participant"] == str(number) and run["condition"] == "O-HAPPE"
        )
        for number in range(1, PARTICIPANTS + 1)
    }
    order = sorted(power, key=lambda number: power[number])
    for number in (order[0], order[(PARTICIPANTS - 1) // 2], order[-1]):
        key = f"figure-uafp-{number}"
        for index, application in enumerate(("torcs", "quake3", "glest", "trackballs")):
            for condition, name in (("T-HAPPE", "training"), ("B-HAPPE", "final")):
                (run,) = [
                    run
                    for run in page.runs(page.paper)
                    if (run["participant"], run["application"], run["condition"])
                    == (str(number), application, condition)
                ]
                values = [LADDER_KHZ.index(int(run[f"uafp_{level}_khz"])) for level in range(10)]
                places = marks(drawn(page.svg(key), f"{key}-data-{name}-{index}"))
                assert is_linear(list(range(10)), [x for x, _ in places])
                assert is_linear(values, [y for _, y in places])


def luminance(colour: str) -> float:
    """Return WCAG's relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_enough_contrast(page: Page, scheme: str) -> None:
    css = (page.out / "report.html").read_text()
    light, dark = re.findall(r":root \{ ([^}]*--page[^}]*) \}", css)
    colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", light if scheme == "light" else dark))
    for front in ("ink", "muted", "blue", "orange"):
        for back in ("card", "page", "mark"):
            one, two = sorted((luminance(colours[front]), luminance(colours[back])))
            if back != "mark" or front == "ink":
                assert (two + 0.05) / (one + 0.05) >= CONTRAST_TEXT, (front, back)


def test_every_colour_of_a_figure_has_its_dark_counterpart_wherever_it_is_drawn(page: Page) -> None:
    css = (page.out / "report.html").read_text()
    replaced = set(re.findall(r'[{}] \[style\*="((?:fill|stroke): #[0-9a-f]{6})"\] \{', css))
    for path in page.out.glob("*.svg"):
        assert "(prefers-color-scheme: dark)" in text(next(read_svg(path).iter(f"{SVG}style")))
        for element in read_svg(path).iter():
            style = element.get("style", "")
            assert set(re.findall(r"(?:fill|stroke): #[0-9a-f]+", style)) <= replaced, (path.name, style)
            assert not {"fill", "stroke"} & set(element.attrib)


def test_the_same_input_gives_the_same_bytes(page: Page, tmp_path: Path) -> None:
    made = report(page.paper, page.a3, tmp_path, PYTHONHASHSEED="1", TZ="Asia/Tokyo", LC_ALL="C", SOURCE_DATE_EPOCH="1")
    assert made.returncode == 0, made.stderr
    first = {path.name: path.read_bytes() for path in page.out.iterdir()}
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_several_seeds_and_other_choices_are_in_the_commands(simulate: Simulate, tmp_path: Path) -> None:
    two = ("--application", "torcs", "--application", "glest")
    simulate(tmp_path / "paper", "paper", 1, *two, "--seed", "3..5", "--also", "UDFS")
    a3 = simulate(tmp_path / "a3", "a3", 1, "--application", "torcs")
    made = report(tmp_path / "paper", a3, tmp_path / "out", "--title", "It's")
    assert made.returncode == 0, made.stderr
    html = parse(tmp_path / "out" / "report.html")
    chosen = "--application torcs --application glest --also UDFS"
    assert [text(code) for code in html.iter("code")] == [
        f"happe-sim study --protocol paper --participants 1 --seed 3..5 {chosen} --out paper",
        f"happe-sim study --protocol a3 --participants 1 --seed {SEED} --application torcs --out a3",
        """governor/sim/report/report.py '--title=It'"'"'s' paper a3 report""",
    ]
    assert "Tables are means over the 3 seeds; figures show the first." in text(html)
    assert "A dash means that none of the participants belongs to the group." in text(html)


def test_help_teaches() -> None:
    made = report("--help")
    assert made.returncode == 0
    for word in ("happe-sim study --protocol paper", "PAPER_DIR", "exit codes: 0 written; 64", "--title"):
        assert word in made.stdout


@pytest.mark.parametrize("words", [(), ("one",), ("a", "b", "c", "--no-such"), ("a", "b", "c", "--title", "")])
def test_wrong_usage_is_64(words: tuple[str, ...]) -> None:
    made = report(*words)
    assert made.returncode == 64
    assert "Try 'report.py --help'." in made.stderr


def test_an_output_that_cannot_be_written_is_73(page: Page, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = report(page.paper, page.a3, tmp_path / "file")
    assert made.returncode == 73
    assert str(tmp_path / "file") in made.stderr
