// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace happe {

// Unmaps the libraries' read-only pages, and gives free heap back: a start runs through much code that is not run again
// (configuration, migrations, the bus's greeting), a press of a key through SQLite. What is needed after all is mapped
// again from the page cache when it is touched, some microseconds for sixteen pages. The program's own pages stay, so
// that a rare press isn't slower for it. madvise(2), MADV_DONTNEED.
void release_mapped_pages();

}  // namespace happe
