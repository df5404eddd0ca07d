// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/field/field_study.h"

#include "governor/sim/commands/commands.h"

#include <sysexits.h>
#include <memory>
#include <string>

namespace happe {
namespace {

struct FieldOptions {
    FieldPlan plan;
    double hours = 2.0;
    std::string out;
};

int field(FieldOptions& options) {
    options.plan.day =
        std::chrono::duration_cast<Micros>(std::chrono::duration<double, std::ratio<3600>>(options.hours));
    const Status written = write_field_study(options.plan, options.out);
    return written ? EX_OK : complain(written.error(), EX_CANTCREAT);
}

}  // namespace

void add_field(CLI::App& program, int& status) {
    constexpr double kLongestHours = 4.0;  // a run record's limit
    CLI::App* const command = program.add_subcommand("field", "Simulate a study of what people notice of probes");
    const auto options = std::make_shared<FieldOptions>();
    command->add_option("--participants", options->plan.people, "The number of participants")
        ->check(CLI::Range(std::size_t{1}, kMostParticipants))
        ->capture_default_str();
    command->add_option("--days", options->plan.days, "Days of each participant")
        ->check(CLI::Range(std::size_t{1}, std::size_t{366}))
        ->capture_default_str();
    command->add_option("--hours", options->hours, "Hours of a day")
        ->check(CLI::Range(0.1, kLongestHours))
        ->capture_default_str();
    command->add_option("--notice", options->plan.notice, "The share of real probes that people notice")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command->add_option("--other", options->plan.slips_an_hour, "Presses of \"faster\" in an hour for other reasons")
        ->check(CLI::Range(0.0, 60.0))
        ->capture_default_str();
    command->add_option("--seed", options->plan.seed, "Determines everything else")->capture_default_str();
    command->add_option("--out", options->out, "Write export/ here, for happe-server analyse")
        ->required()
        ->type_name("DIR");
    command->footer(
        "Each day is a run under L-HAPPE on 32 frequencies: about half of its probes are shams. A person who notices a\n"
        "real probe presses \"faster\" within a minute. The report's share of noticed probes should be the share given\n"
        "here. With other numbers of participants and days it shows how large a study must be.\n\n"
        "Examples:\n"
        "  happe-sim field --out field\n"
        "  happe-sim field --participants 24 --days 14 --notice 0.1 --out field");
    command->callback([options, &status] { status = field(*options); });
}

}  // namespace happe
