# SPDX-License-Identifier: GPL-2.0-or-later
"""What keeps the server running: gunicorn, its log, metrics, health, backups, checks."""
