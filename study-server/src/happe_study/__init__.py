# SPDX-License-Identifier: GPL-2.0-or-later
"""HAPPE's study server: protocols, sealed allocation, blinded runs, uploads that are never lost."""
