// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <utility>

namespace happe::study {

// Counts a program's tasks, so that the program drops late answers to earlier tasks. Must outlive the functions that it
// returns.
class Turns {
public:
    void next() { ++turn_; }

    // Wraps an act: it does nothing if another task has begun meanwhile.
    template <typename F>
    auto still(F act) const {
        return [this, turn = turn_, act = std::move(act)](const auto&... told) {
            if (turn == turn_) {
                act(told...);
            }
        };
    }

    // Returns a function that tells whether no other task has begun.
    [[nodiscard]] std::function<bool()> still_wanted() const {
        return [this, turn = turn_] { return turn == turn_; };
    }

private:
    unsigned turn_ = 0;
};

}  // namespace happe::study
