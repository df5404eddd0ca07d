// SPDX-License-Identifier: GPL-2.0-or-later
// The texts that happe_embed (cmake/Embed.cmake) compiles into the programs.
#pragma once

#include <string_view>

namespace happe::embedded {

std::string_view sql_0001_profiles();          // profiles/sql/0001_profiles.sql
std::string_view sql_0002_bounds();            // profiles/sql/0002_bounds.sql
std::string_view sql_0003_sources_and_undo();  // profiles/sql/0003_sources_and_undo.sql
std::string_view fitted_participants();        // governor/sim/fit/fitted.json; in happe_app

}  // namespace happe::embedded
