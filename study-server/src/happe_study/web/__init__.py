# SPDX-License-Identifier: GPL-2.0-or-later
"""The application: its pages and routes, the steps of every request, health, metrics."""
