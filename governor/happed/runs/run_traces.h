// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/service_error.h"
#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace happe {

// The file beside a run's trace.
struct KeptRun {
    uid_t uid = 0;  // the user who started the run
    bool blind = true;
    std::string facts;  // RunFacts::document(); empty until the run has ended
};

// A folder with a trace RUN.jsonl and a KeptRun in RUN.json for each run, mode 0600. It keeps the newest kMostKept
// runs, fetched or not.
class RunTraces {
public:
    static constexpr std::size_t kMostKept = 256;

    explicit RunTraces(std::filesystem::path folder) : folder_(std::move(folder)) {}

    struct Begun {
        std::string run;  // 16 hexadecimal digits, at random
        FileDescriptor trace;
    };
    [[nodiscard]] Result<Begun> begin(const KeptRun& kept);

    // Replaces RUN.json. It is on the disk when this returns.
    [[nodiscard]] Status keep(const std::string& run, const KeptRun& kept) const;

    // Removes a run's files.
    void remove(const std::string& run) const;

    // NotFound if there is no such run, Failed if its file cannot be read. The trace is for reading, from its start.
    [[nodiscard]] Answer<KeptRun> kept(const std::string& run) const;
    [[nodiscard]] Answer<FileDescriptor> open(const std::string& run) const;

private:
    [[nodiscard]] Answer<FileDescriptor> open(const std::string& run, std::string_view suffix) const;
    [[nodiscard]] std::filesystem::path file(const std::string& run, std::string_view suffix) const;
    void prune();

    std::filesystem::path folder_;
};

}  // namespace happe
