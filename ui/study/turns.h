// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <utility>

namespace happe::study {

// Counts what a program has begun, so that it drops answers to what is over. Must outlive what it returns.
class Turns {
public:
    void next() { ++turn_; }

    // An act that is skipped if something else has begun meanwhile.
    template <typename F>
    auto still(F act) const {
        return [this, turn = turn_, act = std::move(act)](const auto&... told) {
            if (turn == turn_) {
                act(told...);
            }
        };
    }

    // Asks whether nothing else has begun.
    [[nodiscard]] std::function<bool()> still_wanted() const {
        return [this, turn = turn_] { return turn == turn_; };
    }

private:
    unsigned turn_ = 0;
};

}  // namespace happe::study
