// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/profile_book.h"

namespace happe {

// Who is at the machine, and which application has their attention.
class FocusSource {
public:
    // Null if there is nobody to serve: greeter, lock screen, suspend, or a run that belongs to the kernel's governor.
    [[nodiscard]] virtual const Served* served() const = 0;

    virtual ~FocusSource() = default;
};

}  // namespace happe
