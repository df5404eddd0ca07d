# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study is before anybody takes part: its protocol, its allocation, and its row."""
