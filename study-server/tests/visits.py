# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants on their pages."""

from http import HTTPStatus

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import given_participants as people
from given_studies import small, study
from happe_study.model.participants import Participant
from happe_study.model.studies import Study
from world import World


class Visit:
    """A participant who has followed their link in a browser."""

    def __init__(self, world: World, *, enrolled: bool, more: str = "") -> None:
        """Begin before the consent, or with `enrolled` after the handout."""
        self.world = world
        self.study: Study = study(world, protocol=small() + more)
        self.participant: Participant
        self.participant, self.token = people.participant(world, self.study, enrolled=enrolled)
        self.browser: FlaskClient = people.browser(world, self.token)
        self.form: dict[str, str] = {}
        self.sees("withdraw")  # this form is always there; the test needs its token

    def sees(self, path: str = "") -> str:
        """Get the page to which a path leads, and keep its hidden fields for the next form."""
        answer = self.browser.get(f"/p/{path}", follow_redirects=True)
        assert answer.status_code == HTTPStatus.OK
        self.form |= people.hidden(answer.text)
        return answer.text

    def sends(self, path: str, **fields: str) -> TestResponse:
        """Send the form of the last page."""
        return self.browser.post(f"/p/{path}", data=self.form | fields)

    @property
    def row(self) -> Participant:
        """The participant as they are now."""
        return people.now(self.world, self.participant)


def leads_to(answer: TestResponse) -> str:
    """The address to which a form's answer redirects (303)."""
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    return answer.headers["Location"]
