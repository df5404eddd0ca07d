// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/participant.h"

#include "governor/sim/machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace happe::sim {
namespace {

constexpr double kSeriousShortfall = 0.1;   // half of the way to full impatience (assumed)
constexpr double kFeelsNothing = 0.02;      // below this a participant calls it satisfied (assumed)
constexpr double kUnsatisfiedPoints = 1.5;  // off the rating of a participant whom no frequency satisfies (assumed)
constexpr int kGivesUp = 3;                 // after this many presses without effect (assumed)
constexpr Micros kBurstGap{250'000};
constexpr int kLongestBurst = 3;

template <typename T>
void shuffle(std::vector<T>& items, Random& random) {
    for (std::size_t left = items.size(); left > 1; --left) {
        const auto pick = static_cast<std::size_t>(random.uniform() * static_cast<double>(left));
        std::swap(items[left - 1], items[pick]);
    }
}

Khz lowest_reaching(const Ladder& ladder, double khz) {
    return ladder.at_or_above(Khz{static_cast<std::uint32_t>(std::clamp(std::ceil(khz), 1.0, 1e7))}, ladder.top());
}

}  // namespace

std::string_view name(Experience experience) {
    return std::array{"beginner", "moderate", "master"}.at(static_cast<std::size_t>(experience));
}

std::string_view name(Major major) {
    return major == Major::Eecs ? "EECS" : "other";
}

std::string_view name(Category category) {
    return std::array{"rising", "threshold", "satisfied", "unsatisfied"}.at(static_cast<std::size_t>(category));
}

Category Taste::category(const Ladder& ladder) const {
    if (unsatisfied) {
        return Category::Unsatisfied;
    }
    if (need_khz <= ladder.lowest().value) {
        return Category::Satisfied;
    }
    return need_khz > ladder.below(ladder.top()).value ? Category::Rising : Category::Threshold;
}

double Taste::needed_khz(double demand_khz) const {
    return std::min(follows_khz > 0.0 ? need_khz * demand_khz / follows_khz : need_khz, demand_khz);
}

Khz Taste::satisfying(const Ladder& ladder, double demand_khz) const {
    return unsatisfied ? ladder.lowest() : lowest_reaching(ladder, needed_khz(demand_khz));
}

double Taste::shortfall(Khz khz, double demand_khz) const {
    const double needed = needed_khz(demand_khz);
    return needed <= khz.value ? 0.0 : 1.0 - khz.value / needed;
}

std::vector<Person> people(std::size_t count, const PersonParameters& parameters, std::uint64_t seed) {
    constexpr std::size_t kExperiences = 3;
    constexpr std::size_t kMajors = 2;
    Random random({seed, 1});
    std::vector<Person> everybody(count);
    for (std::size_t i = 0; i < count; ++i) {
        everybody[i].experience = static_cast<Experience>(i % kExperiences);
        everybody[i].major = static_cast<Major>(i / kExperiences % kMajors);
    }
    shuffle(everybody, random);
    for (Person& person : everybody) {
        const double practised = static_cast<double>(person.experience) - 1.0;
        const double eecs = person.major == Major::Eecs ? 0.5 : -0.5;
        person.sensitivity =
            random.normal() + parameters.experience_effect * practised + parameters.major_effect * eecs;
        person.generosity = random.normal();
        person.thrift = random.normal();
    }
    return everybody;
}

Taste taste(const Person& person, const ApplicationParameters& application, const PersonParameters& parameters,
            Random random) {
    const double share = parameters.personal_share;
    const double sensitivity = std::sqrt(share) * person.sensitivity + std::sqrt(1.0 - share) * random.normal();
    return {.need_khz = application.need_khz * std::exp(application.need_spread * sensitivity),
            .unsatisfied = random.uniform() < application.unsatisfied_share,
            .style = random.normal()};
}

Player::Player(const Person& person, const Taste& taste, ApplicationParameters application,
               const PersonParameters& parameters, Run run, Random random)
    : person_(person),
      taste_(taste),
      application_(std::move(application)),
      parameters_(parameters),
      run_(run),
      random_(random) {}

bool Player::notice(MonoTime now, double seconds, Khz khz, double shortfall) {
    const double forget = std::exp(-seconds / parameters_.notice_seconds);
    felt_ = forget * felt_ + (1.0 - forget) * shortfall;
    felt_seconds_ += felt_ * seconds;
    seconds_ += seconds;
    resting_ -= seconds;
    if (!run_.has_keys) {
        return false;
    }
    if (!burst_.empty()) {
        if (burst_.front().at > now) {
            return false;
        }
        waiting_.push_back(burst_.front());
        burst_.erase(burst_.begin());
        return true;
    }
    if (resting_ > 0.0) {
        return false;
    }
    const bool at_top = khz >= run_.top;
    const bool faster = !(at_top && in_vain_ >= kGivesUp) && wants(Key::Performance, seconds);
    if (!faster && !wants(Key::Power, seconds)) {
        return false;
    }
    in_vain_ += faster && at_top ? 1 : 0;
    press(faster ? Key::Performance : Key::Power, now);
    return true;
}

bool Player::wants(Key key, double seconds) {
    if (key == Key::Power) {
        const double indicator = run_.has_indicator ? application_.indicator_thrift : 1.0;
        const double own = std::exp(parameters_.thrift_spread * person_.thrift);
        const double rate = felt_ < kFeelsNothing ? application_.thrift * own * indicator * wish_to_save_ : 0.0;
        return random_.happens(rate, seconds);
    }
    const double annoyed = felt_ / (felt_ + kSeriousShortfall);
    const double seen_coming = was_power_ ? parameters_.contrast : 1.0;
    return felt_ >= kFeelsNothing && random_.happens(application_.impatience * annoyed * seen_coming, seconds);
}

void Player::press(Key key, MonoTime now) {
    if (key == Key::Performance && was_power_) {
        wish_to_save_ *= parameters_.regret;
    }
    was_power_ = key == Key::Power;
    waiting_.push_back({key, now});
    resting_ = parameters_.pause_seconds;
    if (random_.uniform() < parameters_.burst_share) {
        const int more = 1 + static_cast<int>(random_.uniform() * (kLongestBurst - 1));
        for (int i = 1; i <= more; ++i) {
            burst_.push_back({key, now + i * kBurstGap});
        }
    }
}

void Player::take(std::vector<Press>& presses) {
    presses.insert(presses.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
}

int Player::rate() {
    double points = application_.rating + application_.rating_person_spread * person_.generosity +
                    application_.rating_run_spread * random_.normal();
    points -= application_.annoyance * (seconds_ > 0.0 ? felt_seconds_ / seconds_ : 0.0);
    points -= taste_.unsatisfied ? kUnsatisfiedPoints : 0.0;
    points += run_.has_keys ? application_.control : 0.0;
    points += run_.has_indicator ? application_.indicator_rating : 0.0;
    return static_cast<int>(std::lround(std::clamp(points, 1.0, 5.0)));
}

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
