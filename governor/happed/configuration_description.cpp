// SPDX-License-Identifier: GPL-2.0-or-later
// happe-toml-describe: prints happe.toml's options as JSON. tools/happe_describe makes the manual page happe.toml(5)
// from it. The build runs this program and does not install it.
#include "governor/documents/configuration.h"

#include <fmt/format.h>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace happe {
namespace {

constexpr std::string_view kDescription =
    "happed(8) reads /etc/happe/happe.toml, a TOML file of at most 64 KiB in UTF-8, when it starts and on `happectl\n"
    "reload` or SIGHUP. Every option has a default, so the file may be missing. A message names the file, line and\n"
    "option of each mistake. If a file that happed reads again has mistakes, the previous configuration stays in force.\n"
    "`happectl check` reports mistakes and applies nothing.\n\n"
    "Names are dotted: keys.power is the option power in the table [keys].";

std::string option_text(const ConfigurationOption& option) {
    return fmt::format("{}\nTakes {}; default {}.{}\nExample: {} = {}", option.description, in_words(option.accepts),
                       in_toml(option.get(Configuration())),
                       option.extended ? " Only with algorithm.mode = \"extended\"." : "", option.name, option.example);
}

nlohmann::ordered_json description() {
    auto options = nlohmann::ordered_json::array();
    for (const ConfigurationOption& option : configuration_options()) {
        options.push_back({{"name", option.name}, {"text", option_text(option)}});
    }
    const auto files = nlohmann::ordered_json::array(
        {{{"name", "/etc/happe/happe.toml"},
          {"text", "The configuration file. `happectl setup` creates it. Without it every option has its default."}},
         {{"name", "/usr/share/happe/happe.toml"},
          {"text", "The template of that file: every option with its default, as a comment."}}});
    return {{"version", HAPPE_VERSION}, {"description", kDescription}, {"options", options}, {"files", files}};
}

}  // namespace
}  // namespace happe

int main() {
    const std::string text = happe::description().dump(1) + "\n";
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
