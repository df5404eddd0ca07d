# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure that cannot be had from these data."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - what a figure has
    """Why there is no figure: for people, in words that follow "refused:"."""
