# SPDX-License-Identifier: GPL-2.0-or-later
"""The exception for a figure that the data can't support."""


class Refusal(Exception):  # noqa: N818 - what a figure has
    """The data can't support a figure. The message says why, in words that follow "refused:"."""
