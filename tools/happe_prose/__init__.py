# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the documents' English: proselint, our own rules (rules.toml), and a grade of readability for each page."""
