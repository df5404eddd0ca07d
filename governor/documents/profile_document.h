// SPDX-License-Identifier: GPL-2.0-or-later
// UAFPs as JSON: profiles/schema/profile.schema.json, and the `uafp` of a trace's header.
#pragma once

#include "governor/core/profile_store.h"
#include "governor/documents/json_document.h"

#include <string>
#include <string_view>
#include <vector>

namespace happe {

// Profiles of one machine. `f_ref` is the top of its fastest ladder; the profiles are in kHz of that ladder.
struct ProfileDocument {
    Khz f_ref;
    std::vector<StoredProfile> profiles;
};

// An error names the field: "profiles[3].khz: ...".
Result<ProfileDocument> read_profiles(std::string_view text);
std::string write_profiles(const ProfileDocument& document);

// Reads an array of {"user", "app", "khz"}. Refuses two profiles of the same user and application. Throws
// json::FieldError.
std::vector<StoredProfile> profile_list(const json::Field& array);

}  // namespace happe
