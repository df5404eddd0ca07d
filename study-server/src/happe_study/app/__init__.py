# SPDX-License-Identifier: GPL-2.0-or-later
"""The application: assembling its parts, the steps of every request, health, metrics."""
