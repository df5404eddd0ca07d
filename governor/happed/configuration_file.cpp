// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/configuration_file.h"

#include "governor/keys/key_binding.h"

#include <fmt/format.h>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace happe {

Result<Configuration> load_configuration(const std::filesystem::path& path) {
    const auto refused = [&] {
        return failure(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    };
    if (std::error_code unknown; std::filesystem::is_other(path, unknown)) {  // to open a FIFO waits for its writer
        return failure(fmt::format("{}: not a regular file", path.string()));
    }
    std::ifstream file(path);
    if (!file && errno != ENOENT) {
        return refused();
    }
    constexpr std::size_t kMost = std::size_t{65} << 10U;  // read_configuration() refuses more than 64 KiB
    std::string text(kMost, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) {  // for example a directory
        return refused();
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return read_configuration(text, path.string(),
                              [](std::string_view key) { return parse_key_binding(key).map([](const KeyBinding&) {}); })
        .and_then([&](const Configuration& configuration) -> Result<Configuration> {
            if (const auto keys = parse_key_bindings(configuration.performance_key, configuration.power_key); !keys) {
                return failure(fmt::format("{}: {}", path.string(), keys.error().message));
            }
            return configuration;
        });
}

}  // namespace happe
