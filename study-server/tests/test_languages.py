# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants' pages in German and English: every text has a translation, and people get their language."""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po
from jinja2.ext import babel_extract

import given_participants as people
from given_studies import small, study
from happe_study.base.languages import FOLDER, LANGUAGES
from happe_study.study.protocol.reading import read_protocol
from happe_study.study.protocol.sections import BUILT_IN, DONT_KNOW, LEVELS_OF_EXPERIENCE, Guess, Rating
from happe_study.web.participant.pages import CONFIRMATION, MONTHS
from happe_study.web.participant.runs import TITLES
from visits import Visit
from world import World

PACKAGE = FOLDER.parent
TEMPLATES = [*sorted((PACKAGE / "templates/participant").iterdir()), PACKAGE / "templates/base.html"]
MARKS = re.compile(r"%\(\w+\)s|</?\w+[^>]*>")  # what a translation must keep
SPOKEN = {"aria-label", "title", "alt", "placeholder"}  # attributes that people hear or see
OWN = {"HAPPE"}
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
Texts = set[str | tuple[str | None, ...]]


OPTIONS = {"trimmed": "yes", "silent": "no"}


def wanted() -> Iterator[str | tuple[str | None, ...]]:
    """Every text that a page can have: of templates, of the program, and defaults of protocols."""
    for template in TEMPLATES:
        with template.open("rb") as file:
            yield from (
                text for _line, _call, text, _more in babel_extract(file, ("_", "gettext"), (), OPTIONS) if text
            )
    for source in PACKAGE.rglob("*.py"):
        with source.open("rb") as file:
            found = extract_python(file, {"gettext": None, "ngettext": None}, [], {})
            yield from (
                text if isinstance(text, str) else tuple(text) for _, _, text, _ in found if text and all(text[:2])
            )
    yield from (*MONTHS, *TITLES.values(), CONFIRMATION, *LEVELS_OF_EXPERIENCE, DONT_KNOW.text, Guess().question)
    yield from (item.question for item in BUILT_IN.values())
    yield from (Rating().question, Rating().lowest_label, Rating().highest_label)
    yield from (choice.text for choice in read_protocol(small().encode()).guess_choices)


@cache
def catalogue(language: str) -> Catalog:
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_every_text_is_translated_and_no_translation_is_left_over(language: str) -> None:
    texts: Texts = {text if isinstance(text, str) else text[:2] for text in wanted()}
    known: Texts = {each.id if isinstance(each.id, str) else tuple(each.id) for each in catalogue(language) if each.id}
    assert texts - known == set(), "missing"
    assert known - texts == set(), "left over"
    for message in catalogue(language):
        if message.id:
            one, other = (
                each if isinstance(each, str) else (each or ("",))[0] for each in (message.id, message.string)
            )
            assert other, message.id
            assert not message.fuzzy
            assert sorted(MARKS.findall(one)) == sorted(MARKS.findall(other)), message.id


class Said(HTMLParser):
    """Collects the texts of a page or template."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the values of attributes that people hear or see."""
        self.texts += [value for name, value in attrs if name in SPOKEN and value]


def untranslated(template: Path) -> list[str]:
    """The words of a template outside of texts to translate."""
    source = re.sub(r"\{#.*?#\}|\{% block width %\}narrow", "", template.read_text(), flags=re.DOTALL)
    source = re.sub(r"\{% trans\b.*?\{% endtrans %\}", "", source, flags=re.DOTALL)
    said = Said()
    said.feed(re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", source, flags=re.DOTALL))
    words = re.findall(r"[A-Za-z]{2,}", " ".join(said.texts))
    literals = re.findall(
        r"(?<!_\()[\"']([A-Z][^\"'<>{}]* [^\"'<>{}]*)[\"']", " ".join(re.findall(r"\{[{%].*?[}%]\}", source, re.DOTALL))
    )
    return [*(word for word in words if word not in OWN), *literals]


def test_no_page_says_a_word_that_is_not_translated(subtests: pytest.Subtests) -> None:
    for template in TEMPLATES:
        with subtests.test(template.name):
            assert untranslated(template) == []


def english_in(page: str) -> list[str]:
    """The English texts of the catalogue in a German page."""
    page = page.replace("&#39;", "'")
    texts = [each.id for each in catalogue("de") if isinstance(each.id, str) and each.id != each.string]
    return [text for text in texts if len(text) > 12 and not MARKS.search(text) and text in page]


def test_a_german_browser_gets_german_pages_from_link_to_withdrawal(world: World) -> None:
    # given
    made = study(world)
    _row, token = people.participant(world, made, enrolled=False)
    browser = world.client()
    browser.environ_base["HTTP_ACCEPT_LANGUAGE"] = GERMAN["Accept-Language"]
    form = people.hidden(browser.get(f"/p/{token}").text)
    browser.post(f"/p/{token}", data=form)
    seen = {"link": browser.get(f"/p/{token}").text}
    # when
    for name, sent in (
        ("consent", {"version": "1", "decision": "agree"}),
        ("questionnaire", {"computer_experience": "nonsense"}),
        ("handout", {}),
        ("withdraw", {"confirm": "nein"}),
        ("goodbye", {}),
        ("nowhere", {}),
    ):
        seen[name] = browser.get(f"/p/{name}", follow_redirects=True).text
        if sent:
            seen[f"{name} again"] = browser.post(f"/p/{name}", data=people.hidden(seen[name]) | sent).text
    # then
    for name, page in seen.items():
        assert english_in(page) == [], name
        assert '<html lang="de">' in page or "<html" not in page, name
    assert "Willkommen" in seen["link"]
    assert "Wählen Sie, was mit Ihren Daten geschehen soll" in seen["consent again"]
    assert "Schreiben Sie das Wort zurücktreten" in seen["withdraw again"]


def test_a_german_participant_rates_guesses_and_withdraws_in_german(world: World) -> None:
    visit = Visit(world, enrolled=True)
    visit.browser.environ_base["HTTP_ACCEPT_LANGUAGE"] = "de"
    laptop = people.laptop_with(world, visit.study, visit.participant)
    assert "Als Nächstes: Torcs" in visit.sees("run")
    assert "2 Minuten" in visit.sees("run")
    people.ended(world, people.runs_of(world, visit.participant)[0].code, laptop)
    rating = visit.sees("run")
    assert "Wie zufrieden waren Sie" in rating
    assert "am wenigsten zufrieden" in rating
    visit.sends("rating", rating="5")
    guess = visit.sees("run")
    assert "Eine Steuerung, die von den beiden Tasten lernt" in guess
    assert english_in(rating) + english_in(guess) == []
    visit.sees("withdraw")
    assert "Sie sind zurückgetreten" in visit.browser.get(visit.sends("withdraw", confirm="zurücktreten").location).text


def test_the_protocol_has_a_say_and_the_participant_the_last_word(world: World) -> None:
    protocol = small().replace('title = "A small study"', 'title = "A small study"\nlanguage = "de"')
    _row, token = people.participant(world, study(world, protocol=protocol), enrolled=False)
    browser = world.client()
    browser.environ_base["HTTP_ACCEPT_LANGUAGE"] = "en"
    path = f"/p/{token}"
    first = browser.get(path).text
    assert "Willkommen" in first
    assert 'href="?language=en" hreflang="en" lang="en">English' in first
    browser.post(path, data=people.hidden(first))
    assert "Teilnahme" in browser.get("/p/consent").text
    assert "Taking part" in browser.get("/p/consent?language=en").text
    assert "Taking part" in browser.get("/p/consent").text
    assert browser.get("/p/consent?language=xx").text.count('<html lang="en">') == 1
    assert '<html lang="en">' in world.client().get("/sign-in", headers=GERMAN).text


def test_a_question_of_the_protocol_is_shown_as_it_is(world: World) -> None:
    visit = Visit(world, enrolled=True, more='\n[rating]\nquestion = "<b>100 % sure?</b> %(x)s"\n')
    visit.browser.environ_base["HTTP_ACCEPT_LANGUAGE"] = "de"
    laptop = people.laptop_with(world, visit.study, visit.participant)
    people.ended(world, people.runs_of(world, visit.participant)[0].code, laptop)
    assert "&lt;b&gt;100 % sure?&lt;/b&gt; %(x)s" in visit.sees("run")
