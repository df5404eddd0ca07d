# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections. Each module turns a study into text, tables, figures and numbers for a kind of question."""
