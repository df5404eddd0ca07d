// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/adapters/mapped_pages.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>

namespace happe {
namespace {

// Segments that cannot be written hold what is in their file, nothing else. (Those that are read-only after relocation
// are marked writable.)
int release(dl_phdr_info* object, std::size_t /*size*/, void* data) {
    const auto page = *static_cast<std::uintptr_t*>(data);
    for (ElfW(Half) i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) {
            const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
            const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
            // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is what the program header has
            madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
        }
    }
    return 0;
}

}  // namespace

void release_start_pages() {
    auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    dl_iterate_phdr(release, &page);
    malloc_trim(0);
}

}  // namespace happe
