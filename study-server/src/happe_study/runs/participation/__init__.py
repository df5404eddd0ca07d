# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants: link, consent, questionnaire, enrolment, and their pages."""
