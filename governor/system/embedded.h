// SPDX-License-Identifier: GPL-2.0-or-later
// The texts that happe_embed (cmake/Embed.cmake) compiles into the programs.
#pragma once

#include <string_view>

namespace happe::embedded {

std::string_view sql_profiles();         // profiles/profiles.sql
std::string_view fitted_participants();  // governor/sim/fitted.json; in happe_app

}  // namespace happe::embedded
