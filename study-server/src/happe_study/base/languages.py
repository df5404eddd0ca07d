# SPDX-License-Identifier: GPL-2.0-or-later
"""The languages of the participants' pages. All other pages and answers are in English.

A page uses the language that the participant chose, else the protocol's, else one that the browser asks for. The
English texts are the keys of translations/LANGUAGE.po, which the server reads when a page first needs it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import Blueprint, Flask, Response, g, has_request_context, request

from happe_study.base.parts import parts

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}  # each language's name in that language
COOKIE = "happe_language"
COOKIE_PATH = "/p"
FOLDER = Path(__file__).parents[1] / "translations"
SPEAKING: set[str] = set()  # the names of blueprints with translated pages


def install(app: Flask) -> None:
    """Let templates translate: their own texts by `_`, `ngettext` and `trans`, others by the filter `in_language`."""
    environment = app.jinja_env
    environment.policies["ext.i18n.trimmed"] = True
    environment.add_extension("jinja2.ext.i18n")
    environment.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined] # the extension's
    environment.filters["in_language"] = gettext
    environment.globals["language"] = language
    environment.globals["languages"] = LANGUAGES


def speak(blueprint: Blueprint) -> None:
    """Translate a blueprint's pages. A cookie keeps the language that a participant chooses with `?language=`."""
    SPEAKING.add(blueprint.name)

    @blueprint.after_request
    def _remember(response: Response) -> Response:
        if (chosen := request.args.get("language")) in LANGUAGES:
            https = parts().config.https
            response.set_cookie(COOKIE, chosen, path=COOKIE_PATH, httponly=True, samesite="Strict", secure=https)
        response.vary.add("Accept-Language")
        return response


def prefer(wanted: Callable[[], str | None]) -> None:
    """Use the language that `wanted` returns, unless the participant chose one. The first text calls `wanted`."""
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
    """The text for a number, singular or plural, in the language of this request's page."""
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
