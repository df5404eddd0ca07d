// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/office.h"

#include <algorithm>
#include <cmath>

namespace happe::sim {
namespace {

constexpr double kWorkSpread = 0.3;        // standard deviation of the logarithm of an interaction's work
constexpr double kRemembersSeconds = 5.0;  // time constant of the memory of a lag

constexpr Interaction kTyping{.work = 0.03, .tolerated = 0.15, .pause = 0.3, .share = 0.95};
constexpr Interaction kClick{.work = 0.5, .tolerated = 1.0, .pause = 3.0, .share = 0.6};
constexpr Interaction kPage{.work = 2.0, .tolerated = 4.0, .pause = 15.0, .share = 0.4};
constexpr Interaction kFrames{.work = 0.35, .tolerated = 1.0, .pause = 0.0, .share = 1.0, .paced = true};
constexpr Interaction kBuild{.work = 8.0, .tolerated = 12.0, .pause = 10.0, .share = 0.05};

constexpr std::array kApplications{
    OfficeApplication{"writing", {kTyping, kClick}},
    OfficeApplication{"browsing", {kClick, kPage}},
    OfficeApplication{"video", {kFrames, kFrames}},
    OfficeApplication{"build", {kTyping, kBuild}},
};

}  // namespace

double OfficeApplication::need() const {
    return std::max(interactions[0].work / interactions[0].tolerated, interactions[1].work / interactions[1].tolerated);
}

std::span<const OfficeApplication, 4> office_applications() {
    return kApplications;
}

Office::Office(const OfficeApplication& application, double top_khz, Random random)
    : application_(&application), top_khz_(top_khz), random_(random) {}

void Office::next(double seconds, double impatience) {
    impatience_ = impatience;
    idle_ += seconds;
    pause_ -= seconds;
    if (present_ != nullptr || pause_ > 0.0) {
        return;
    }
    const auto& [first, second] = application_->interactions;
    present_ = random_.uniform() < first.share ? &first : &second;
    work_ = present_->work * top_khz_ * std::exp(kWorkSpread * random_.normal());
    left_ = work_;
    waited_ = 0.0;
    idle_ = present_->paced ? idle_ : 0.0;
}

void Office::ran(double seconds, double khz) {
    shortfall_ = 0.0;
    if (present_ != nullptr) {
        const double worked = std::min(left_, std::min(khz, demand_khz(seconds)) * seconds);
        left_ -= worked;
        const bool done = left_ <= 1e-6 * work_;
        waited_ += done ? worked / khz : seconds;
        shortfall_ = std::max(0.0, 1.0 - tolerated() / waited_);
        if (done) {
            pause_ = -present_->pause * std::log(1.0 - random_.uniform());
            present_ = nullptr;
        }
    }
    annoyance_ = std::max(shortfall_, annoyance_ * std::exp(-seconds / kRemembersSeconds));
}

double Office::demand_khz(double seconds) const {
    if (present_ == nullptr) {
        return 0.0;
    }
    return left_ / (present_->paced ? std::max(present_->tolerated - waited_, seconds) : seconds);
}

double Office::need_khz() const {
    return present_ == nullptr ? 0.0 : work_ / tolerated();
}

double Office::tolerated() const {
    return present_->paced ? present_->tolerated : present_->tolerated / impatience_;
}

}  // namespace happe::sim
