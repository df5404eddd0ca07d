// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdlib>
#include <memory>

namespace happe::ui {

struct FreeXcb {
    void operator()(void* memory) const { std::free(memory); }  // NOLINT(*-no-malloc,*-owning-memory): as xcb wants it
};
template <typename T>
using XcbReply = std::unique_ptr<T, FreeXcb>;

}  // namespace happe::ui
