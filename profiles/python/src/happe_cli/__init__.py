# SPDX-License-Identifier: GPL-2.0-or-later
"""What HAPPE's programs in Python have in common, each told its name.

`commands` is click in our look; `description` tells a program's commands as JSON; `errors` has exit statuses; `disk`
writes files that outlive a power cut; `program` runs it all.
"""
