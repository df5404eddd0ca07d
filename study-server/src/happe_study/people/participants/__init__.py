# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants as rows, and the answers to a questionnaire."""
