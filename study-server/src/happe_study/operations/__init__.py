# SPDX-License-Identifier: GPL-2.0-or-later
"""Running the server: gunicorn, workers, the log, backups, checks, setting up."""
