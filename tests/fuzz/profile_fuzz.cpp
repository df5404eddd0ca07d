// SPDX-License-Identifier: GPL-2.0-or-later
// Any text as a profile document: what can be read is written and read again without a change.
#include "governor/documents/profile_document.h"

#include <algorithm>
#include <cstdlib>

namespace {

bool same(const happe::StoredProfile& one, const happe::StoredProfile& other) {
    return one.whom == other.whom && one.uafp == other.uafp;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto first = happe::read_profiles({reinterpret_cast<const char*>(data), size});
    if (!first) {
        return 0;
    }
    const auto second = happe::read_profiles(happe::write_profiles(*first));
    if (!second || second->f_ref != first->f_ref || !std::ranges::equal(second->profiles, first->profiles, same)) {
        std::abort();
    }
    return 0;
}
