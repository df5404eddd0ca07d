# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON bodies of requests: every endpoint reads them as strictly as uploaded documents."""

from collections.abc import Iterable
from io import BytesIO
from typing import IO, Any

from flask import Request
from werkzeug.formparser import FormDataParser

from happe_contract import strict_json
from happe_contract.faults import BadDocumentError, Fault
from happe_contract.strict_json import Json
from happe_study.base.problems import FieldError, Problem, bad_request, too_large, unprocessable
from happe_study.base.uploads import JSON, MOST_VALUES, require_type


class SmallFormParser(FormDataParser):
    """Reads forms of at most MOST_VALUES fields. Of forms in parts, MAX_FORM_PARTS is the limit."""

    def parse(
        self, stream: IO[bytes], mimetype: str, content_length: int | None, options: dict[str, str] | None = None
    ) -> Any:  # noqa: ANN401 - werkzeug's
        """The stream, fields and files. Raises Problem 413 before it makes fields of too long a form."""
        if mimetype == "application/x-www-form-urlencoded":
            body = stream.read()
            _refuse_more(body.count(b"&") + 1)
            stream = BytesIO(body)
        return super().parse(stream, mimetype, content_length, options)


class StrictRequest(Request):
    """A request. Its JSON must be declared as JSON, without a content coding, complete, small, and unambiguous."""

    form_data_parser_class = SmallFormParser

    def get_data(self, cache: bool = True, as_text: bool = False, parse_form_data: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - werkzeug's
        """The body. Raises Problem 400 if it is shorter than its Content-Length, as when the client hung up."""
        content = super().get_data(cache, as_text, parse_form_data)  # type: ignore[call-overload] # passed on
        if not as_text and not parse_form_data and len(content) < (self.content_length or 0):
            raise bad_request("The body is shorter than its Content-Length.")
        return content

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Json:  # noqa: ARG002, FBT001, FBT002 - werkzeug's
        """The body's JSON object. `force` and `silent` do not relax the rules.

        Problem 415: another type or a content coding; 413: more than MOST_VALUES; 400: no strict JSON; 422: no object.
        """
        require_type(JSON)
        try:
            document = strict_json.read(self.get_data(cache=False), fractions=True)
        except BadDocumentError as error:
            raise _unreadable(error.faults) from None
        if strict_json.deeper(document):
            raise _unreadable([strict_json.TOO_DEEP])
        _refuse_more(strict_json.size(document))
        if not isinstance(document, dict):  # APIFlask would take null for an empty object
            raise unprocessable("The request breaks a rule.", FieldError("", "must be an object"))
        return document


def _refuse_more(values: int) -> None:
    if values > MOST_VALUES:
        raise too_large(f"The server takes at most {MOST_VALUES} values here.")


def _unreadable(faults: Iterable[Fault]) -> Problem:
    return bad_request("The request can't be read.", *(FieldError(fault.pointer, fault.detail) for fault in faults))
