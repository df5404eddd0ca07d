// SPDX-License-Identifier: GPL-2.0-or-later
// happe-toml-manual: prints the manual page happe.toml(5), from the options themselves. Run by the build, not
// installed.
#include "governor/documents/configuration.h"
#include "packaging/cli/cpp/manual.h"

#include <fmt/format.h>
#include <cstdio>
#include <cstdlib>

namespace happe {
namespace {

std::string option_text(const ConfigurationOption& option) {
    return fmt::format("{}\nTakes {}; default {}.{}\nExample: {} = {}", option.description, in_words(option.accepts),
                       in_toml(option.get(Configuration())),
                       option.extended ? " Only with algorithm.mode = \"extended\"." : "", option.name, option.example);
}

std::string configuration_manual() {
    ManualPage page("happe.toml", 5, HAPPE_VERSION);
    page.section("NAME");
    page.line("happe.toml \\- configuration of happed");
    page.section("DESCRIPTION");
    page.text(
        "happed(8) reads /etc/happe/happe.toml, a TOML file of at most 64 KiB in UTF-8, when it starts and on `happectl\n"
        "reload` or SIGHUP. Every option has a default; without the file all of them hold. What is not understood is an\n"
        "error that names file, line and option, and then the configuration before stays in force. `happectl check` says\n"
        "what is wrong without applying anything.\n\n"
        "Names are dotted: keys.power is the option power in the table [keys].");
    page.section("OPTIONS");
    for (const ConfigurationOption& option : configuration_options()) {
        page.item(bold(option.name), option_text(option));
    }
    page.section("FILES");
    page.item("/etc/happe/happe.toml",
              "The file, which happectl setup makes. Without it every option has its default.");
    page.item("/usr/share/happe/happe.toml", "What it is made from: every option with its default, as a comment.");
    page.section("SEE ALSO");
    page.line("happectl(1), happed(8)");
    return page.written();
}

}  // namespace
}  // namespace happe

int main() {
    const bool written = std::fputs(happe::configuration_manual().c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
