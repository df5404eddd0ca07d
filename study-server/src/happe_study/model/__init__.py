# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the database, rights and rules of callers, the audit log, and the queue of jobs."""
