// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/workload.h"

#include "governor/sim/power_model.h"

#include <algorithm>
#include <cmath>

namespace happe::sim {
namespace {

constexpr double kDriftSeconds = 4.0;      // correlation time of a scene (assumed)
constexpr double kBackgroundShare = 0.12;  // CPU 1 runs the desktop: 0 to 12 % of the top frequency (assumed)

}  // namespace

Workload::Workload(const WorkloadParameters& parameters, double style, Random random)
    : parameters_(parameters),
      scale_(std::exp(parameters.participant_spread * style)),
      random_(random),
      drift_(random_.normal()) {}

Demand Workload::next(double seconds) {
    const double share = std::clamp(parameters_.calm_share, 0.0, 0.9);
    const double calm = parameters_.calm_seconds;
    const double busy_seconds = calm * (1.0 - share) / std::max(share, 1e-9);
    if (random_.happens(1.0 / (calm_ ? calm : busy_seconds), seconds)) {
        calm_ = !calm_;
    }
    const double keep = std::exp(-seconds / kDriftSeconds);
    drift_ = keep * drift_ + std::sqrt(1.0 - keep * keep) * random_.normal();
    const double scene = std::exp(parameters_.drift_spread * drift_ + parameters_.flicker_spread * random_.normal());
    const double khz = (calm_ ? parameters_.calm_khz : parameters_.busy_khz) * scale_ * scene;
    return {khz, t61_ladder().top().value * kBackgroundShare * random_.uniform()};
}

}  // namespace happe::sim
