// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/participants_document.h"

#include "governor/documents/json_document.h"
#include "governor/system/embedded.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace happe {
namespace {

using json::Field;
using sim::ApplicationParameters;
using sim::PersonParameters;
using sim::WorkloadParameters;

constexpr std::size_t kMaxApplications = 64;

template <typename T>
struct Binding {
    const char* name;
    double T::* member;
    double least;
    double most;
};

constexpr std::array kPeople{
    Binding<PersonParameters>{"experience_effect", &PersonParameters::experience_effect, -3, 3},
    Binding<PersonParameters>{"major_effect", &PersonParameters::major_effect, -3, 3},
    Binding<PersonParameters>{"personal_share", &PersonParameters::personal_share, 0, 1},
    Binding<PersonParameters>{"notice_seconds", &PersonParameters::notice_seconds, 0.01, 60},
    Binding<PersonParameters>{"pause_seconds", &PersonParameters::pause_seconds, 0, 60},
    Binding<PersonParameters>{"contrast", &PersonParameters::contrast, 0, 100},
    Binding<PersonParameters>{"regret", &PersonParameters::regret, 0, 1},
    Binding<PersonParameters>{"thrift_spread", &PersonParameters::thrift_spread, 0, 3},
    Binding<PersonParameters>{"burst_share", &PersonParameters::burst_share, 0, 1},
};

constexpr std::array kWorkloadNumbers{
    Binding<WorkloadParameters>{"busy_khz", &WorkloadParameters::busy_khz, 0, 1e7},
    Binding<WorkloadParameters>{"participant_spread", &WorkloadParameters::participant_spread, 0, 3},
    Binding<WorkloadParameters>{"drift_spread", &WorkloadParameters::drift_spread, 0, 3},
    Binding<WorkloadParameters>{"flicker_spread", &WorkloadParameters::flicker_spread, 0, 3},
    Binding<WorkloadParameters>{"calm_khz", &WorkloadParameters::calm_khz, 0, 1e7},
    Binding<WorkloadParameters>{"calm_share", &WorkloadParameters::calm_share, 0, 0.9},
};

constexpr std::array kApplication{
    Binding<ApplicationParameters>{"other_watts", &ApplicationParameters::other_watts, -20, 100},
    Binding<ApplicationParameters>{"other_watts_spread", &ApplicationParameters::other_watts_spread, 0, 20},
    Binding<ApplicationParameters>{"need_khz", &ApplicationParameters::need_khz, 1, 1e7},
    Binding<ApplicationParameters>{"need_spread", &ApplicationParameters::need_spread, 0, 5},
    Binding<ApplicationParameters>{"unsatisfied_share", &ApplicationParameters::unsatisfied_share, 0, 1},
    Binding<ApplicationParameters>{"impatience", &ApplicationParameters::impatience, 0, 10},
    Binding<ApplicationParameters>{"thrift", &ApplicationParameters::thrift, 0, 10},
    Binding<ApplicationParameters>{"indicator_thrift", &ApplicationParameters::indicator_thrift, 0, 100},
    Binding<ApplicationParameters>{"rating", &ApplicationParameters::rating, 0, 10},
    Binding<ApplicationParameters>{"rating_person_spread", &ApplicationParameters::rating_person_spread, 0, 5},
    Binding<ApplicationParameters>{"rating_run_spread", &ApplicationParameters::rating_run_spread, 0, 5},
    Binding<ApplicationParameters>{"annoyance", &ApplicationParameters::annoyance, 0, 100},
    Binding<ApplicationParameters>{"control", &ApplicationParameters::control, -5, 5},
    Binding<ApplicationParameters>{"indicator_rating", &ApplicationParameters::indicator_rating, -5, 5},
};

template <typename T, std::size_t N>
T numbers(const Field& object, const std::array<Binding<T>, N>& bindings, T result = {}) {
    for (const auto& [key, value] : object.members(0, N + 2)) {
        const bool known =
            std::ranges::any_of(bindings, [&field = key](const auto& binding) { return field == binding.name; });
        if (!known && key != "name" && key != "workload") {
            value.refuse("unknown field");
        }
    }
    for (const auto& binding : bindings) {
        result.*binding.member = object.at(binding.name).number(binding.least, binding.most);
    }
    return result;
}

// A name that is safe in file names and tables.
std::string plain_name(const Field& field) {
    const std::string name = field.name();
    const auto plain = [](char byte) {
        return std::string_view("abcdefghijklmnopqrstuvwxyz0123456789-_").find(byte) != std::string_view::npos;
    };
    if (!std::ranges::all_of(name, plain)) {
        field.refuse("must be made of a to z, 0 to 9, - and _");
    }
    return name;
}

ApplicationParameters application(const Field& object) {
    ApplicationParameters result = numbers(object, kApplication);
    result.name = plain_name(object.at("name"));
    result.workload = numbers(object.at("workload"), kWorkloadNumbers);
    return result;
}

}  // namespace

Result<Participants> read_participants(std::string_view text) try {
    const nlohmann::json parsed = json::parse(text);
    const Field document(parsed, "");
    static_cast<void>(document.object({"format", "provenance", "people", "applications"}));
    static_cast<void>(document.at("format").one_of({"happe-participants/1"}));
    Participants result{.provenance = document.at("provenance").name(),
                        .people = numbers(document.at("people"), kPeople),
                        .applications = {}};
    for (const Field& entry : document.at("applications").items(1, kMaxApplications)) {
        result.applications.push_back(application(entry));
        if (std::ranges::count(result.applications, result.applications.back().name, &ApplicationParameters::name) >
            1) {
            entry.at("name").refuse("there is an application of this name already");
        }
    }
    return result;
} catch (const json::FieldError& error) {
    return failure(error.what());
}

const Participants& fitted_participants() {
    static const Participants fitted = [] {
        auto read = read_participants(embedded::fitted_participants());
        if (!read) {
            throw std::logic_error("governor/sim/fitted.json: " + read.error().message);
        }
        return *std::move(read);
    }();
    return fitted;
}

}  // namespace happe
