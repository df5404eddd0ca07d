// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace happe {

// Unmaps the program's and its libraries' read-only pages, and gives free heap back: a start runs through much code
// that is not run again (configuration, migrations, the bus's greeting), a press of a key through SQLite. What is needed
// after all is mapped again from the page cache when it is touched, some microseconds for sixteen pages. madvise(2),
// MADV_DONTNEED.
void release_mapped_pages();

}  // namespace happe
