# SPDX-License-Identifier: GPL-2.0-or-later
"""Doing jobs: a worker, and a process for each job."""
