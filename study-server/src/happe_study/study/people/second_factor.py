# SPDX-License-Identifier: GPL-2.0-or-later
"""A second factor: the code of six digits that an app makes from a shared secret every 30 s (TOTP, RFC 6238).

The database stores the secret sealed for its account, under a key derived from the server's (`secrets/password`).
A code works once: somebody who reads it over a shoulder cannot use it again.
"""

import hashlib
import hmac
from typing import NamedTuple

import nacl.exceptions
import nacl.secret
import pyotp
import segno
from markupsafe import Markup
from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.config import Secrets
from happe_study.base.problems import FieldError, unprocessable
from happe_study.model.accounts import Account
from happe_study.model.audit import chain
from happe_study.model.rules import Caller

ISSUER = "HAPPE"
STEP_US = 30_000_000
STEPS_OFF = (-1, 0, 1)  # a phone's clock may be off by half a minute
SECRET_CHARACTERS = 32  # base 32: 160 bits, as RFC 4226 recommends


def new_secret() -> str:
    """A secret for an app, in base 32."""
    return pyotp.random_base32(SECRET_CHARACTERS)


def is_secret(text: str) -> bool:
    """Whether a text has the form of a secret of `new_secret`."""
    return len(text) == SECRET_CHARACTERS and set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


def picture(secret: str, email: str) -> Markup:
    """A QR code of the secret, as SVG. An app reads it with the camera."""
    address = pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER)
    drawn: str = segno.make(address, micro=False).svg_inline(scale=5, svgclass=None, lineclass=None)
    return Markup(drawn)  # noqa: S704 - segno draws only the code's modules


class App(NamedTuple):
    """The secret that an app has, and a code that the app made from it."""

    secret: str
    code: str


def set_up(session: Session, keys: Secrets, who: Caller, account: Account, app: App) -> None:
    """Turn on an account's second factor. Raises Problem 422 unless the app's code is right now."""
    if not is_secret(app.secret):
        raise unprocessable(
            "This is not a secret for an app.", FieldError("/secret", "Open this page again, and scan the new picture.")
        )
    step = _step(app.secret, app.code)
    if step is None:
        detail = "Not the code that the app shows now. Is the phone's clock right?"
        raise unprocessable("The app is not set up yet.", FieldError("/code", detail))
    account.totp_secret = _box(keys).encrypt(app.secret.encode(), _name(account))
    account.totp_step = step
    chain.append(session, "account.second-factor", who, account=account.email, asked=True)


def remove(session: Session, who: Caller | None, account: Account) -> None:
    """Turn off an account's second factor."""
    account.totp_secret = account.totp_step = None
    chain.append(session, "account.second-factor", who, account=account.email, asked=False)


def accepts(session: Session, keys: Secrets, account: Account, code: str) -> bool:
    """Whether the code is right now and unused, or the account has no second factor. Marks the code as used.

    Raises RuntimeError if the secret was sealed under another key, or for another account.
    """
    if account.totp_secret is None:
        return True
    try:
        secret = _box(keys).decrypt(account.totp_secret, _name(account)).decode()
    except nacl.exceptions.CryptoError:
        raise RuntimeError(
            f"secrets/password is not the one that sealed the second factor of {account.email}"
        ) from None
    if (step := _step(secret, code)) is None:
        return False
    unused = or_(Account.totp_step.is_(None), Account.totp_step < step)
    use = update(Account).where(Account.id == account.id, unused).values(totp_step=step).returning(Account.id)
    return session.scalar(use) is not None


def _step(secret: str, code: str) -> int | None:
    """The time step, at most one from now, in which the app makes this code; None if there is none."""
    typed, now = "".join(code.split()), now_us() // STEP_US
    steps = [now + off for off in STEPS_OFF]
    app = pyotp.TOTP(secret)
    return next((step for step in steps if hmac.compare_digest(app.generate_otp(step).encode(), typed.encode())), None)


def _box(keys: Secrets) -> nacl.secret.Aead:
    return nacl.secret.Aead(hashlib.blake2b(key=keys.password, person=b"happe totp", digest_size=32).digest())


def _name(account: Account) -> bytes:
    return f"totp/{account.id}".encode()
