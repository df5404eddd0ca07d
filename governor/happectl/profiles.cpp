// SPDX-License-Identifier: GPL-2.0-or-later
// happectl profiles: shows, exports, imports and removes profiles.
#include "governor/documents/json_document.h"
#include "governor/documents/profile_document.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/files.h"
#include "governor/happectl/view.h"

#include <fmt/format.h>
#include <unistd.h>
#include <iostream>
#include <memory>

namespace happe::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestDocument = std::size_t{1} << 20U;

struct ProfilesOptions {
    Output output;
    std::string user;  // empty: the caller
    std::string application;
    std::string file = "-";
    bool yes = false;
};

std::string nothing_learned(const std::string& user) {
    if (!user.empty()) {
        return fmt::format("HAPPE has learned nothing from {} yet\n", user);
    }
    if (::geteuid() == 0) {
        return "HAPPE has learned nothing from root yet; without sudo, this shows what it has learned from you\n";
    }
    return "HAPPE has learned nothing yet: press a key, or happectl feedback faster\n";
}

Outcome<int> list(DaemonProxy& daemon, const ProfilesOptions& options) {
    const auto profiles = daemon.call(method::kListProfiles, options.user);
    if (!profiles) {
        return pass_on(profiles);
    }
    if (options.output.json) {
        Json all = Json::array();
        for (const auto& [application, uafp] : *profiles) {
            all.push_back({{"application", application}, {"khz", numbers(uafp.values())}});
        }
        say(json_text(all));
        return EX_OK;
    }
    const Style style = options.output.style();
    Rows rows = {{"application", "GHz at level 0 to 9"}};
    for (const auto& [application, uafp] : *profiles) {
        std::string values;
        for (const Khz khz : uafp.values()) {
            const std::string number = gigahertz(khz);
            values += fmt::format("{:<6}", number.substr(0, number.find(' ')));
        }
        rows.push_back({fit(printable(application, style), 40), values.substr(0, values.find_last_not_of(' ') + 1)});
    }
    say(profiles->empty() ? nothing_learned(options.user) : table(rows, style));
    return EX_OK;
}

Outcome<int> show(DaemonProxy& daemon, const ProfilesOptions& options) {
    const auto uafp = daemon.call(method::kGetProfile, options.user, options.application);
    if (!uafp) {
        return pass_on(uafp);
    }
    if (options.output.json) {
        say(json_text({{"application", options.application}, {"khz", numbers(uafp->values())}}));
        return EX_OK;
    }
    const auto state = daemon.properties();
    const Style style = options.output.style();
    say(fmt::format("UAFP for {}\n", printable(options.application, style)) +
        step_chart(*uafp, state ? fastest_ladder(*state) : nullptr, std::nullopt, style));
    return EX_OK;
}

// Asks on a terminal; elsewhere --yes is required.
Outcome<bool> confirmed(DaemonProxy& daemon, const ProfilesOptions& options) {
    if (options.yes) {
        return true;
    }
    if (::isatty(STDIN_FILENO) == 0) {
        return trouble(EX_USAGE, "reset deletes the profile; without a terminal, confirm with --yes");
    }
    const auto known = daemon.call(method::kGetProfile, options.user, options.application);
    if (!known && known.error().status != EX_IOERR) {  // happed can also reset a profile that it cannot read
        return pass_on(known);
    }
    std::cerr << fmt::format("Forget the profile for {} and how it was learned? [y/N] ",
                             printable(options.application, style_of_output(options.output.ascii)))
              << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

Outcome<int> reset(DaemonProxy& daemon, const ProfilesOptions& options) {
    const auto sure = confirmed(daemon, options);
    if (!sure) {
        return pass_on(sure);
    }
    if (!*sure) {
        say("nothing is changed\n");
        return EX_OK;
    }
    const auto done = daemon.call(method::kResetProfile, options.user, options.application);
    if (!done) {
        return pass_on(done);
    }
    say(options.output.json ? json_text({{"application", options.application}, {"reset", true}})
                            : fmt::format("{}: forgotten\n", printable(options.application, options.output.style())));
    return EX_OK;
}

Outcome<int> export_them(DaemonProxy& daemon, const ProfilesOptions& options) {
    auto file = NewFile::create(options.file);  // first, so that its errors come early
    if (!file) {
        return pass_on(file);
    }
    const auto document = daemon.call(method::kExportProfiles, options.user);
    if (!document) {
        return pass_on(document);
    }
    const bool ends = document->ends_with('\n');
    const auto path =
        file->write(ends ? *document : *document + '\n').and_then([&](std::size_t) { return file->publish(); });
    return path ? Outcome<int>(EX_OK) : pass_on(path);
}

Outcome<int> import_them(DaemonProxy& daemon, const ProfilesOptions& options) {
    const auto document = read_input(options.file, kLongestDocument);
    if (!document) {
        return pass_on(document);
    }
    if (const auto good = read_profiles(*document); !good) {
        return trouble(EX_DATAERR, fmt::format("{}: {}", options.file, good.error().message));
    }
    const auto count = daemon.call(method::kImportProfiles, options.user, {*document});
    if (!count) {
        return pass_on(count);
    }
    say(options.output.json ? json_text({{"imported", *count}})
                            : fmt::format("{} profile{} imported\n", *count, *count == 1 ? "" : "s"));
    return EX_OK;
}

using Action = Outcome<int> (*)(DaemonProxy&, const ProfilesOptions&);

// A subcommand of `profiles` that calls the daemon.
CLI::App* add(CLI::App& parent, Task& task, const std::shared_ptr<ProfilesOptions>& options, const char* name,
              const char* description, Action action) {
    CLI::App* const command = parent.add_subcommand(name, description);
    add_user(*command, options->user, "Use the profiles of this user");
    with_daemon(*command, task, options, action);
    return command;
}

}  // namespace

void add_profiles(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("profiles", "Show what HAPPE learned, by application");
    command->require_subcommand(1);
    command->footer(  // before the subcommands, which CLI11 hands it down to
        "A profile (UAFP) has ten values, one for each level of work from 0 (idle) to 9 (full speed): the lowest\n"
        "frequency that satisfied you at that level. import stores every profile of the document as yours, whichever user\n"
        "the document names; with --user NAME it stores them as NAME's. If mains.own_profiles is true in the\n"
        "configuration, an application has two profiles: HAPPE uses torcs on battery, and torcs/mains on mains.\n\n"
        "Examples:\n"
        "  happectl profiles list\n"
        "  happectl profiles show torcs\n"
        "  happectl profiles reset torcs --yes\n"
        "  happectl profiles export --out profiles.json\n"
        "  happectl profiles import profiles.json");
    const auto options = std::make_shared<ProfilesOptions>();
    add_output(*add(*command, task, options, "list", "Every application and its ten values", list), options->output);
    CLI::App* const shown = add(*command, task, options, "show", "One profile, as a chart of steps", show);
    add_application(*shown, options->application);
    add_output(*shown, options->output);
    CLI::App* const forgotten = add(*command, task, options, "reset", "Forget a profile and how it was learned", reset);
    add_application(*forgotten, options->application);
    forgotten->add_flag("--yes", options->yes, "Don't ask");
    add_output(*forgotten, options->output);
    add(*command, task, options, "export", "Every profile as a JSON document", export_them)
        ->add_option("--out", options->file, "The file, for you alone; - is standard output")
        ->capture_default_str();
    CLI::App* const import = add(*command, task, options, "import", "Import an exported document", import_them);
    import->add_option("FILE", options->file, "A file that export wrote, at most 1 MiB; - is standard input")
        ->required();
    import->add_flag("--json", options->output.json, "Print JSON, in ASCII");
}

}  // namespace happe::ctl
