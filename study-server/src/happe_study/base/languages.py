# SPDX-License-Identifier: GPL-2.0-or-later
"""The languages of the participants' pages. All other pages and answers are in English.

A page is in the language that the participant chose on it, or else the protocol's, or else one that the browser asks
for. The texts in English are the keys of translations/LANGUAGE.po, which is read when it is needed first.
"""

from __future__ import annotations

from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import g, has_request_context, request

from happe_study.base.parts import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask import Blueprint, Flask, Response

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}  # by the names that they have themselves
COOKIE = "happe_language"
COOKIE_PATH = "/p"
FOLDER = Path(__file__).parents[1] / "translations"
SPEAKING: set[str] = set()  # the names of blueprints whose pages are in these languages


def install(app: Flask) -> None:
    """Let templates translate: `_`, `ngettext` and `trans` texts of their own, the filter `in_language` others."""
    environment = app.jinja_env
    environment.policies["ext.i18n.trimmed"] = True
    environment.add_extension("jinja2.ext.i18n")
    environment.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined] # the extension's
    environment.filters["in_language"] = gettext
    environment.globals["language"] = language
    environment.globals["languages"] = LANGUAGES


def speak(blueprint: Blueprint) -> None:
    """Let a blueprint's pages have the participant's language, and remember what they choose by `?language=`."""
    SPEAKING.add(blueprint.name)

    @blueprint.after_request
    def _remember(response: Response) -> Response:
        if (chosen := request.args.get("language")) in LANGUAGES:
            https = parts().config.https
            response.set_cookie(COOKIE, chosen, path=COOKIE_PATH, httponly=True, samesite="Strict", secure=https)
        response.vary.add("Accept-Language")
        return response


def prefer(wanted: Callable[[], str | None]) -> None:
    """Speak the language of a protocol, unless the participant has chosen one. It is asked for with the first text."""
    g.happe_wanted = wanted
    g.pop("happe_language", None)


def language() -> str:
    """The language of this request's page."""
    if not has_request_context() or request.blueprint not in SPEAKING:
        return ENGLISH
    if "happe_language" not in g:
        g.happe_language = next((each for each in _languages() if each in LANGUAGES), ENGLISH)
    found: str = g.happe_language
    return found


def _languages() -> Iterator[str | None]:
    yield request.args.get("language")
    yield request.cookies.get(COOKIE)
    if "happe_wanted" in g:
        yield g.happe_wanted()
    yield request.accept_languages.best_match(LANGUAGES)


def gettext(text: str) -> str:
    """A text in the language of this request's page."""
    return _catalogue(language()).gettext(text)


def ngettext(one: str, many: str, number: int) -> str:
    """The same for a text that depends on a number."""
    return _catalogue(language()).ngettext(one, many, number)


@cache
def _catalogue(name: str) -> NullTranslations:
    if name == ENGLISH:
        return NullTranslations()
    with (FOLDER / f"{name}.po").open("rb") as file:
        texts = read_po(file, locale=name)
    compiled = BytesIO()
    write_mo(compiled, texts)
    compiled.seek(0)
    return GNUTranslations(compiled)
