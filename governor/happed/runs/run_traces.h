// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/core/result.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace happe {

// The facts of a run that are kept beside its trace.
struct KeptRun {
    uid_t uid = 0;  // who started it
    bool blind = true;
    std::string facts;  // run_facts.h; empty until it has ended
};

// A folder of traces, RUN.jsonl, and what is kept beside them, RUN.json, mode 0600. The newest kMostKept stay, whether
// they were fetched or not.
class RunTraces {
public:
    static constexpr std::size_t kMostKept = 256;

    explicit RunTraces(std::filesystem::path folder) : folder_(std::move(folder)) {}

    struct Begun {
        std::string run;  // 16 hexadecimal digits, at random
        FileDescriptor trace;
    };
    [[nodiscard]] Result<Begun> begin(const KeptRun& kept);

    // Replaces what was kept of the run. It is on the disk when this returns.
    [[nodiscard]] Status keep(const std::string& run, const KeptRun& kept) const;

    // An error if there is no such run. The trace is for reading, from its start.
    [[nodiscard]] Result<KeptRun> kept(const std::string& run) const;
    [[nodiscard]] Result<FileDescriptor> open(const std::string& run) const;

private:
    [[nodiscard]] std::filesystem::path file(const std::string& run, std::string_view suffix) const;
    void prune();

    std::filesystem::path folder_;
};

}  // namespace happe
