// SPDX-License-Identifier: GPL-2.0-or-later
// happectl check: checks a configuration without the daemon.
#include "governor/documents/configuration.h"
#include "governor/happectl/commands.h"
#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/files.h"
#include "governor/happectl/view.h"
#include "governor/keys/key_binding.h"

#include <fmt/format.h>
#include <memory>

namespace happe::ctl {
namespace {

// The configuration file of this machine.
std::string file_in_force() {
    return ("/" / kConfigurationFile).string();
}

struct CheckOptions {
    std::string file = file_in_force();
    bool json = false;
};

std::string as_text(const Configuration& configuration) {
    std::string text;
    for (const auto& [name, value] : describe_settings(configuration)) {
        text += fmt::format("{} = {}\n", name, in_toml(value));
    }
    return text;
}

std::string as_json(const Configuration& configuration) {
    nlohmann::ordered_json settings = nlohmann::ordered_json::object();
    for (const auto& [name, value] : describe_settings(configuration)) {
        settings[std::string(name)] = setting_json(value);
    }
    return json_text({{"valid", true}, {"settings", settings}});
}

Status can_be_bound(std::string_view key) {
    return parse_key_binding(key).map([](const KeyBinding&) {});
}

int report(const std::vector<std::string>& mistakes, bool json) {
    if (json) {
        say(json_text({{"valid", false}, {"errors", mistakes}}));
    }
    for (const std::string& mistake : mistakes) {
        if (!json) {
            remark(mistake);
        }
    }
    return EX_DATAERR;
}

Outcome<int> check(const CheckOptions& options) {
    auto configuration = configuration_in(options.file);
    if (!configuration && configuration.error().status == EX_NOINPUT && options.file == file_in_force()) {
        remark(fmt::format("there is no {}, so every option has its default", options.file));
        configuration = Configuration();
    }
    if (configuration) {
        say(options.json ? as_json(*configuration) : as_text(*configuration));
        return EX_OK;
    }
    if (configuration.error().status != EX_DATAERR) {
        return pass_on(configuration);
    }
    return report(lines_of(configuration.error().message), options.json);
}

}  // namespace

Outcome<Configuration> configuration_in(const std::string& path) {
    constexpr std::size_t kLongest = 65'536;
    const auto text = read_input(path, kLongest);
    if (!text) {
        return pass_on(text);
    }
    auto configuration = read_configuration(*text, path, can_be_bound);
    if (!configuration) {
        return trouble(EX_DATAERR, configuration.error().message);
    }
    if (const auto keys = parse_key_bindings(configuration->performance_key, configuration->power_key); !keys) {
        return trouble(EX_DATAERR, fmt::format("{}: {}", path, keys.error().message));
    }
    return *std::move(configuration);
}

void add_check(CLI::App& program, Task& task) {
    CLI::App* const command = program.add_subcommand("check", "Check a configuration, and print its settings");
    const auto options = std::make_shared<CheckOptions>();
    command->add_option("FILE", options->file, "The file; - is standard input")->capture_default_str();
    command->add_flag("--json", options->json, "Print JSON, in ASCII");
    command->footer(
        "Needs no daemon. Prints every option with the value it would have, or each mistake with its line.\n"
        "Names options that only earlier versions had; HAPPE ignores them.\n\n"
        "Examples:\n"
        "  happectl check\n"
        "  happectl check new.toml && sudo install -D -m 644 new.toml /etc/happe/happe.toml && sudo happectl reload");
    command->callback([options, &task] { task = [options] { return check(*options); }; });
}

}  // namespace happe::ctl
