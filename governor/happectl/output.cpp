// SPDX-License-Identifier: GPL-2.0-or-later
// The output functions of all commands of happectl.
#include "governor/documents/json_document.h"
#include "governor/happectl/commands.h"

#include <fmt/format.h>
#include <cstdio>
#include <iostream>

namespace happe::ctl {

const CLI::Validator kName(
    [](const std::string& name) {
        constexpr std::size_t kLongest = 255;
        if (name.empty() || name.size() > kLongest) {
            return std::string("must have 1 to 255 bytes");
        }
        const bool good = json::is_utf8(name) && name.find('\0') == std::string::npos;
        return good ? std::string() : std::string("must be UTF-8");
    },
    "NAME");

void add_output(CLI::App& command, Output& output) {
    command.add_flag("--json", output.json, "Print JSON, in ASCII");
    command.add_flag("--ascii", output.ascii, "Draw with ASCII; the default if the locale isn't UTF-8");
}

void say(const std::string& text) {
    std::cout << text;
}

void remark(const std::string& text) {
    std::cout.flush();
    std::fputs(fmt::format("happectl: {}\n", printable(text, style_of_output(false))).c_str(), stderr);
}

}  // namespace happe::ctl
