// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <utility>

namespace happe::study {

// Counts a program's tasks, so that the program drops late answers to earlier tasks. Must outlive the functions that it
// returns.
class TaskCounter {
public:
    void next() { ++task_; }

    // Wraps an act: it does nothing if another task has begun meanwhile.
    template <typename F>
    auto if_current(F act) const {
        return [this, task = task_, act = std::move(act)](const auto&... told) {
            if (task == task_) {
                act(told...);
            }
        };
    }

    // Returns a function that tells whether no other task has begun.
    [[nodiscard]] std::function<bool()> is_current() const {
        return [this, task = task_] { return task == task_; };
    }

private:
    unsigned task_ = 0;
};

}  // namespace happe::study
