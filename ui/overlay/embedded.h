// SPDX-License-Identifier: GPL-2.0-or-later
// The texts that the build embeds in the indicator (cmake/Embed.cmake).
#pragma once

#include <string_view>

namespace happe::embedded {

std::string_view t61_power();  // profiles/machines/t61-power.csv

}  // namespace happe::embedded
