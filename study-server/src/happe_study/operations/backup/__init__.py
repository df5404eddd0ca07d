# SPDX-License-Identifier: GPL-2.0-or-later
"""Backups of a server that runs, and their restoring.

A backup is a folder or a tar of

    server.db or database.dump          the database as it was at one moment (SQLite; PostgreSQL's custom format)
    traces/UU/UUID/NNNNN.parquet        the parts of traces that it names
    secrets/*.key                       only if asked for
    manifest.json                       written last: every other file with size and SHA-256, versions, the audit's head

It is written under another name and gets its own when all of it has reached the disk.
"""
