# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as files: columns, and rows as CSV, JSON lines or Parquet."""
