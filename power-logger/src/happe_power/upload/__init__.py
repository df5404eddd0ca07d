# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings traces to the study server: docs/uploads.md.

`server` sends requests and says what an answer means, `outbox` knows which parts of a trace have arrived,
`clocks` compares clocks, `uploader` uses them all and seals traces. `beside` runs it beside a recording.
"""
