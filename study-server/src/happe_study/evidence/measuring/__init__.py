# SPDX-License-Identifier: GPL-2.0-or-later
"""Power of an unblinded study's runs, measured by the server from the sealed parts that it has."""
