// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <unistd.h>
#include <utility>

namespace happe::ui {

// Owns an open file and closes it; -1: none.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int file) : file_(file) {}
    Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(file_, other.file_);
        return *this;
    }
    ~Descriptor() {
        if (file_ >= 0) {
            ::close(file_);
        }
    }

    [[nodiscard]] int get() const { return file_; }

private:
    int file_ = -1;
};

}  // namespace happe::ui
