// SPDX-License-Identifier: GPL-2.0-or-later
// Simulated participants: their traits, their needs of an application, their presses and their ratings.
//
// A participant needs `need_khz` while the application wants that much or more. A lower frequency causes a shortfall, a
// share from 0 to 1. The four categories of section A.3 follow from where the need lies on the ladder. Every parameter
// is fitted to the paper (governor/sim/commands/fit.py) or assumed; nobody has measured one.
#pragma once

#include "governor/core/press_series.h"
#include "governor/sim/machine.h"
#include "governor/sim/random.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace happe::sim {

// All values are fitted to the paper; see governor/sim/commands/fit.py.
struct WorkloadParameters {
    double busy_khz = 0.0;            // demand of a busy game, for the median participant
    double participant_spread = 0.0;  // standard deviation of its logarithm between participants
    double drift_spread = 0.0;        // the same over seconds within a run, as scenes change
    double flicker_spread = 0.0;      // the same from one step of time to the next
    double calm_khz = 0.0;            // demand in menus, between races, while waiting
    double calm_share = 0.0;          // share of the time
    double calm_seconds = 6.0;        // mean length of a calm spell (assumed)
};

// The work that a game wants from the CPU while one participant plays it once.
class Workload {
public:
    // `style`: this participant's way to play, standard normal.
    Workload(const WorkloadParameters& parameters, double style, Random random);

    // Demand over the next step of time.
    Demand next(double seconds);

private:
    WorkloadParameters parameters_;
    double scale_;
    Random random_;
    bool calm_ = false;
    double drift_;
};

enum class Experience : std::uint8_t { Beginner, Moderate, Master };
enum class Major : std::uint8_t { Eecs, Other };

// Section A.3: satisfaction rises with every step; rises only up to some frequency; is complete at every frequency; is
// absent at every frequency.
enum class Category : std::uint8_t { Rising, Threshold, Satisfied, Unsatisfied };

// The names in tables and files; groups as in section A.5.6.
std::string_view name(Experience experience);
std::string_view name(Major major);
std::string_view name(Category category);

struct Person {
    Experience experience = Experience::Beginner;
    Major major = Major::Eecs;
    double sensitivity = 0.0;  // to slowness; about standard normal over all participants
    double generosity = 0.0;   // of ratings, standard normal
    double thrift = 0.0;       // of the power key, standard normal
};

// Parameters of people, for all applications.
struct PersonParameters {
    double experience_effect = 0.0;  // its effect on sensitivity: masters +, beginners -
    double major_effect = 0.0;       // EECS +, others -
    double personal_share = 0.0;     // share of the need's variance that is the same in all applications of a person
    double notice_seconds = 0.0;     // time constant of feeling a shortfall
    double pause_seconds = 0.0;      // the wait after a press, to see its effect
    double contrast = 0.0;           // how much sooner people notice slowness that their own power key caused
    double regret = 0.0;             // the share of the wish to save power that remains after that
    double thrift_spread = 0.0;      // standard deviation of the logarithm of thrift between participants
    double burst_share = 0.0;        // share of presses that are bursts
};

// Parameters of one application.
struct ApplicationParameters {
    std::string name;
    WorkloadParameters workload;
    double other_watts = 0.0;         // in addition to Table A.2's screen saver: GPU, disk
    double other_watts_spread = 0.0;  // standard deviation between runs
    double need_khz = 0.0;            // median
    double need_spread = 0.0;         // standard deviation of its logarithm
    double unsatisfied_share = 0.0;   // share of participants whom no frequency satisfies
    double impatience = 0.0;          // performance presses a second at full annoyance
    double thrift = 0.0;              // power presses a second while satisfied
    double indicator_thrift = 0.0;    // factor for `thrift` with the battery indicator
    double rating = 0.0;              // the rating of a participant without complaints
    double rating_person_spread = 0.0;
    double rating_run_spread = 0.0;
    double annoyance = 0.0;         // points for a shortfall of one, all the time
    double control = 0.0;           // points for having the keys
    double indicator_rating = 0.0;  // points for having the indicator
};

// One person's needs of one application.
struct Taste {
    double need_khz = 0.0;
    bool unsatisfied = false;
    double style = 0.0;        // the way of playing, standard normal
    double follows_khz = 0.0;  // above 0: the demand to which the need belongs; the need changes with the demand

    [[nodiscard]] double needed_khz(double demand_khz) const;
    [[nodiscard]] Category category(const Ladder& ladder) const;

    // The lowest frequency at which this person is as satisfied as they can be, with this demand.
    [[nodiscard]] Khz satisfying(const Ladder& ladder, double demand_khz) const;

    // 0 (as fast as needed) to 1.
    [[nodiscard]] double shortfall(Khz khz, double demand_khz) const;
};

// Always the lowest frequency that satisfies this participant now. It knows the demand, unlike any real governor.
class Oracle : public KernelGovernor {
public:
    explicit Oracle(const Taste& taste, Khz floor = {}) : taste_(taste), floor_(floor) {}
    [[nodiscard]] Micros sampling_period() const override { return Micros{0}; }
    [[nodiscard]] Khz next(const Ladder& ladder, Khz /*current*/, Ppm /*load*/) override {
        return std::max(taste_.satisfying(ladder, demand_khz_), ladder.at_or_above(floor_, ladder.top()));
    }
    void tell(double demand_khz) { demand_khz_ = demand_khz; }
    void feel(const Taste& taste) { taste_ = taste; }

private:
    Taste taste_;
    Khz floor_;  // of the governor with which it is compared
    double demand_khz_ = 0.0;
};

// Draws people with experience and major in equal numbers (Figure A.2 prints none), in random order.
std::vector<Person> people(std::size_t count, const PersonParameters& parameters, std::uint64_t seed);

Taste taste(const Person& person, const ApplicationParameters& application, const PersonParameters& parameters,
            Random random);

// A person during one run.
class Player : public KeySource {
public:
    struct Run {
        bool has_keys = false;
        bool has_indicator = false;
        Khz top =
            kHighestKhz;  // where "faster" has no effect. Only people of whom this is known give up pressing there
    };

    Player(const Person& person, const Taste& taste, ApplicationParameters application,
           const PersonParameters& parameters, Run run, Random random);

    // Simulates the step of time that ends at `now`: the game wanted `demand_khz`, the machine ran at `khz`. True if
    // the person pressed a key.
    bool live(MonoTime now, double seconds, Khz khz, double demand_khz) {
        return notice(now, seconds, khz, taste_.shortfall(khz, demand_khz));
    }

    // The same, with this shortfall.
    bool notice(MonoTime now, double seconds, Khz khz, double shortfall);

    // Changes the person's needs.
    void feel(const Taste& taste) { taste_ = taste; }

    // Begins another sitting: tries the keys again.
    void sit_down() { in_vain_ = 0; }

    // Presses a key by accident.
    void slip(Key key, MonoTime now) { waiting_.push_back({key, now}); }

    [[nodiscard]] double felt() const { return felt_; }  // the shortfall, 0 to 1

    void take(std::vector<Press>& presses) override;

    // The answer to "satisfaction level with the computer performance/responsiveness on a scale of 1 to 5".
    [[nodiscard]] int rate();

private:
    bool wants(Key key, double seconds);
    void press(Key key, MonoTime now);

    Person person_;
    Taste taste_;
    ApplicationParameters application_;
    PersonParameters parameters_;
    Run run_;
    Random random_;
    double felt_ = 0.0;
    double felt_seconds_ = 0.0;
    double seconds_ = 0.0;
    double resting_ = 0.0;
    int in_vain_ = 0;         // presses of "faster" at the top in this sitting
    bool was_power_ = false;  // the last press
    double wish_to_save_ = 1.0;
    std::vector<Press> waiting_;
    std::vector<Press> burst_;  // presses still to come
};

}  // namespace happe::sim
