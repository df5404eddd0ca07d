# SPDX-License-Identifier: GPL-2.0-or-later
"""Long work as jobs: asked for in a transaction, done by a process of its own, seen by all servers of a database."""
