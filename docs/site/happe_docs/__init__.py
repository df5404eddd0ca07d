# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the documents into a site: what is in docs/, and a reference read from programs, schemas and interfaces."""
