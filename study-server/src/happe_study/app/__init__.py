# SPDX-License-Identifier: GPL-2.0-or-later
"""The application: its parts put together, what every request goes through, health, metrics."""
