# SPDX-License-Identifier: GPL-2.0-or-later
"""The audit log: a chain of digests, its verification, and its pages."""
