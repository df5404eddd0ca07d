# SPDX-License-Identifier: GPL-2.0-or-later
"""Making backups of a running server, and restoring them.

A backup is a folder or a tar of

    server.db or database.dump          the database as it was at one moment (SQLite; PostgreSQL's custom format)
    traces/UU/UUID/NNNNN.sealed         the parts of traces that the database names
    secrets/*.key                       only on request
    manifest.json                       written last: every other file with size and SHA-256, versions, the audit's head

With a bucket, the parts stay there, as the manifest says first. A backup leaves out the database's identity, so that a
restored server does not own the bucket.

The program writes it under a temporary name, and renames it when all of it is on the disk.
"""
