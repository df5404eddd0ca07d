# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings traces to the study server: docs/uploads.md.

`server` asks and hears, `judgement` says what an answer means, `outbox` knows what of one trace has arrived, `sealing`
ends it, `clocks` compares clocks, `uploader` puts them together. `beside` runs it beside a recording.
"""
