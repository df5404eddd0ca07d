# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs being done: a worker, and a process for each job."""
