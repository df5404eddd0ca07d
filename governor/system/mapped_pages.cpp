// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/mapped_pages.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <utility>
#include <vector>

namespace happe {
namespace {

using Segments = std::vector<std::pair<std::uintptr_t, std::size_t>>;  // address, length

// Segments that cannot be written hold what is in their file, nothing else. (Those that are read-only after relocation
// are marked writable.)
int collect(dl_phdr_info* object, std::size_t /*size*/, void* segments) {
    if (*object->dlpi_name == '\0') {
        return 0;  // the program itself
    }
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (ElfW(Half) i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) {
            const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
            const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
            static_cast<Segments*>(segments)->emplace_back(begin, end - begin);
        }
    }
    return 0;
}

}  // namespace

// In two steps, since the program headers are in one of the segments.
void release_mapped_pages() {
    Segments segments;
    dl_iterate_phdr(collect, &segments);
    malloc_trim(0);
    for (const auto& [address, length] : segments) {
        // Program headers have addresses as numbers (elf(5)), madvise() takes a pointer.
        // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-reinterpret-cast): so this must convert
        madvise(reinterpret_cast<void*>(address), length, MADV_DONTNEED);
    }
}

}  // namespace happe
