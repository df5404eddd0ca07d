# SPDX-License-Identifier: GPL-2.0-or-later
"""Sphinx's configuration. Everything that a page needs is in the site: it asks nobody else for anything."""

project = "HAPPE"
html_title = "HAPPE"
extensions = ["myst_parser"]
html_theme = "furo"  # light and dark, as the reader's desktop is
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # as in a terminal
html_show_copyright = False
html_permalinks_icon = "#"
nitpicky = True
myst_heading_anchors = 4  # as in the documents' links
myst_enable_extensions = ["deflist"]
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # examples with ... in them
