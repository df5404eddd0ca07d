// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a configuration: an error in UTF-8 that names the file in each line, or settings that are read back the
// same.
#include "governor/documents/configuration.h"
#include "governor/documents/json_document.h"

#include <fmt/format.h>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

void check_error(const std::string& error) {
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = error.find('\n', begin);
        if (!error.substr(begin, end - begin).starts_with("fuzz:")) {
            std::abort();
        }
    }
    if (!happe::json::is_utf8(error)) {
        std::abort();
    }
}

void check_settings(const happe::Configuration& configuration) {
    std::string text;
    for (const happe::ConfigurationOption& option : happe::configuration_options()) {
        if (configuration.algorithm.extended || !option.extended) {
            text += fmt::format("{} = {}\n", option.name, happe::in_toml(option.get(configuration)));
        }
    }
    const auto again = happe::read_configuration(text, "again");
    if (!again || *again != configuration) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = happe::read_configuration(std::string(data, data + size), "fuzz");
    if (read) {
        check_settings(*read);
    } else {
        check_error(read.error().message);
    }
    return 0;
}
