// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/profile_document.h"

#include "governor/documents/json_document.h"

#include <set>

namespace happe {
namespace {

constexpr std::size_t kMaxProfiles = 100'000;

StoredProfile profile(const json::Field& entry) {
    static_cast<void>(entry.object({"user", "app", "khz"}));
    const json::Field list = entry.at("khz");
    Uafp::Values values{};
    std::size_t level = 0;
    for (const json::Field& value : list.items(Uafp::kLevels, Uafp::kLevels)) {
        values.at(level++) = Khz{static_cast<std::uint32_t>(value.integer(1, kHighestKhz.value))};
    }
    const auto uafp = Uafp::from(values);
    if (!uafp) {
        list.refuse("must not descend from one level to the next");
    }
    return {{entry.at("user").name(), entry.at("app").name()}, *uafp};
}

}  // namespace

std::vector<StoredProfile> profile_list(const json::Field& array) {
    std::vector<StoredProfile> profiles;
    std::set<Served> seen;
    for (const json::Field& entry : array.items(0, kMaxProfiles)) {
        profiles.push_back(profile(entry));
        if (!seen.insert(profiles.back().whom).second) {
            entry.refuse("a second profile of the same user and application");
        }
    }
    return profiles;
}

Result<ProfileDocument> read_profiles(std::string_view text) try {
    const nlohmann::json parsed = json::parse(text);
    const json::Field document(parsed, "");
    static_cast<void>(document.object({"format", "f_max_khz", "profiles"}));
    static_cast<void>(document.at("format").one_of({"happe-profile/1"}));
    const auto f_ref = static_cast<std::uint32_t>(document.at("f_max_khz").integer(1, kHighestKhz.value));
    return ProfileDocument{Khz{f_ref}, profile_list(document.at("profiles"))};
} catch (const json::FieldError& error) {
    return failure(error.what());
}

std::string write_profiles(const ProfileDocument& document) {
    auto profiles = nlohmann::ordered_json::array();
    for (const StoredProfile& profile : document.profiles) {
        profiles.push_back({{"user", profile.whom.user},
                            {"app", profile_name(profile.whom)},
                            {"khz", numbers(profile.uafp.values())}});
    }
    const nlohmann::ordered_json whole = {
        {"format", "happe-profile/1"}, {"f_max_khz", document.f_ref.value}, {"profiles", std::move(profiles)}};
    return whole.dump() + "\n";
}

}  // namespace happe
