# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings traces to the study server: docs/uploads.md.

`server` sends requests and says what an answer means, `outbox` knows which parts of a trace have arrived,
`sealing` seals the trace, `clocks` compares clocks, `uploader` uses them all. `beside` runs it beside a recording.
"""
