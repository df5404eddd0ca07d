// SPDX-License-Identifier: GPL-2.0-or-later
// The options of happe-study.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace happe::study {

enum class Command : std::uint8_t { Wizard, Enrol, Status, Upload, Abort };

struct Options {
    Command command = Command::Wizard;
    std::string state;
    std::string browser;
    std::string language;
    int countdown_s = 3;
    int settle_ms = 700;
    std::string server;
    std::string code;  // the enrolment's code; empty: ask for it
    bool json = false;
    int patience_s = 60;
    bool again = false;  // also send uploads that the server has refused
};

void define(CLI::App& program, Options& options);

}  // namespace happe::study
