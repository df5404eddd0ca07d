# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans of studies as jobs: how many participants a study needs, from its protocol alone."""
