# SPDX-License-Identifier: GPL-2.0-or-later
"""Planning studies, as jobs: how many participants a study needs, computed from its protocol alone."""
