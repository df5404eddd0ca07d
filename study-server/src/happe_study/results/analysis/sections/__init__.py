# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's sections, a module for each kind of question: from a study to text, tables, figures and numbers."""
