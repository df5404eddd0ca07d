# SPDX-License-Identifier: GPL-2.0-or-later
"""Long work as jobs: a transaction asks for a job, a worker does it in a separate process, all servers show it."""
