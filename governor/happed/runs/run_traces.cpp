// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/runs/run_traces.h"

#include "governor/documents/json_document.h"
#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <vector>

namespace happe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCodeDigits = 16;
constexpr std::string_view kTrace = ".jsonl";
constexpr std::string_view kBeside = ".json";
constexpr std::size_t kLongestFacts = std::size_t{8} << 20U;  // a run record may have this length

using Kind = ServiceError::Kind;

tl::unexpected<ServiceError> unreadable(const fs::path& path) {
    return refusal(Kind::Failed, fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
}

bool is_code(std::string_view run) {
    return run.size() == kCodeDigits && run.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string text_of(const KeptRun& kept) {
    return nlohmann::json({{"uid", kept.uid}, {"blind", kept.blind}, {"facts", kept.facts}}).dump() + '\n';
}

KeptRun read_kept(std::string_view text) {
    const nlohmann::json parsed = json::parse(text);
    const json::Field document(parsed, "");
    static_cast<void>(document.object({"uid", "blind", "facts"}));
    return {.uid = static_cast<uid_t>(document.at("uid").integer(0, std::numeric_limits<uid_t>::max())),
            .blind = document.at("blind").boolean(),
            .facts = document.at("facts").text(kLongestFacts)};
}

}  // namespace

fs::path RunTraces::file(const std::string& run, std::string_view suffix) const {
    return folder_ / (run + std::string(suffix));
}

Result<RunTraces::Begun> RunTraces::begin(const KeptRun& kept) {
    std::error_code trouble;
    if (fs::create_directories(folder_, trouble)) {
        static_cast<void>(sync_directory_of(folder_));  // a disk that refuses this refuses the run, too
    }
    fs::permissions(folder_, fs::perms::owner_all, trouble);
    std::uint64_t random = 0;
    if (trouble || getrandom(&random, sizeof random, 0) != sizeof random) {
        return failure(fmt::format("{}: {}", folder_.string(), trouble.message()));
    }
    prune();
    std::string run = fmt::format("{:016x}", random);
    const Status beside = keep(run, kept);
    const fs::path path = file(run, kTrace);
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    FileDescriptor trace(beside ? ::open(path.c_str(), kNew, S_IRUSR | S_IWUSR) : -1);
    if (!trace) {
        const std::string why = fmt::format("{}: {}", path.string(), std::generic_category().message(errno));
        remove(run);
        return failure(beside ? why : beside.error().message);
    }
    return Begun{std::move(run), std::move(trace)};
}

Status RunTraces::keep(const std::string& run, const KeptRun& kept) const {
    return write_file(file(run, kBeside), text_of(kept), S_IRUSR | S_IWUSR);
}

void RunTraces::remove(const std::string& run) const {
    std::error_code gone;
    fs::remove(file(run, kTrace), gone);
    fs::remove(file(run, kBeside), gone);
}

Answer<KeptRun> RunTraces::kept(const std::string& run) const try {
    return open(run, kBeside).and_then([&](const FileDescriptor& beside) -> Answer<KeptRun> {
        const auto text = read_all(beside.get(), 2 * kLongestFacts);
        return text ? Answer<KeptRun>(read_kept(*text)) : unreadable(file(run, kBeside));
    });
} catch (const json::FieldError& error) {
    return refusal(Kind::Failed, fmt::format("{}: {}", file(run, kBeside).string(), error.what()));
}

Answer<FileDescriptor> RunTraces::open(const std::string& run) const {
    return open(run, kTrace);
}

Answer<FileDescriptor> RunTraces::open(const std::string& run, std::string_view suffix) const {
    if (!is_code(run)) {
        return refusal(Kind::NotFound, "no such run");
    }
    const fs::path path = file(run, suffix);
    FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!opened) {
        return errno == ENOENT ? refusal(Kind::NotFound, "no such run") : unreadable(path);
    }
    return opened;
}

// Removes the oldest runs, to make room for one more.
void RunTraces::prune() {
    std::vector<std::pair<fs::file_time_type, fs::path>> traces;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(folder_, gone)) {
        if (entry.path().extension() == kTrace) {
            traces.emplace_back(entry.last_write_time(gone), entry.path());
        }
    }
    std::ranges::sort(traces);
    for (std::size_t i = 0; i + kMostKept <= traces.size(); ++i) {
        remove(traces[i].second.stem().string());
    }
}

}  // namespace happe
