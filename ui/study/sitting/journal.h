// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's journal: the present participant, the progress of each run, and the uploads that the server does not
// have yet. One SQLite file, 0600. Each change is one transaction, on the disk when the function returns, so that kill
// -9, a power cut or a full disk leave the state before or after the change. SQLite overwrites removed data, because a
// run's trace reveals its condition.
//
// Throws JournalError, which names the file.
#pragma once

#include "ui/study/sitting/run_record.h"
#include "ui/study/sitting/sitting.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace happe::study {

// The laptop's uploads to the server, which the journal keeps until the server has them. Each has a fixed id, so that
// the laptop may send it again. docs/uploads.md.
struct Upload {
    std::int64_t number = 0;  // ascending, from the journal; 0: not in the journal yet
    std::string about;        // a run's code, or "clock"
    std::string method;       // PUT or POST
    std::string path;         // below /api/v1/
    std::string body;         // the bytes to send each time
};

using Probe = std::array<std::int64_t, 4>;  // t0 to t3, microseconds

[[nodiscard]] Upload end_of(const std::string& run);
[[nodiscard]] Upload rating_of(const std::string& run, const std::string& id, int rating);
[[nodiscard]] Upload guess_of(const std::string& run, const std::string& id, const std::string& choice);
[[nodiscard]] Upload record_of(const std::string& run, const std::string& id, const std::string& record);
[[nodiscard]] Upload abortion_of(const std::string& run, const std::string& reason);
[[nodiscard]] Upload clock_of(const std::string& id, const std::string& boot, const std::vector<Probe>& probes);

class JournalError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The present participant: their token, and the server's last answer about their runs (empty: none yet).
struct Seat {
    std::string token;
    std::string told;
};

// A upload that the server has refused finally, and the reason.
struct Refusal {
    std::string about;
    std::string path;
    std::string why;
};

class Journal {
public:
    // Creates the file if it is missing.
    explicit Journal(const std::string& path);

    [[nodiscard]] std::optional<Seat> seat();
    void sit(const std::string& token);
    void told(const std::string& document);
    // Deletes the participant's token, runs, practice and applications, but not the uploads.
    void stand_up();

    [[nodiscard]] std::set<std::string> practised();
    void practise(const std::string& application);

    [[nodiscard]] std::vector<KnownRun> runs();
    [[nodiscard]] Recording recording(const std::string& run);
    // The wizard is about to start the run, under this id unless the run has one. Deletes an earlier recording of the
    // run, and an abortion that the server has refused.
    void begin(const std::string& run, const std::string& start_id);
    void running(const std::string& run, const std::string& governor_run);
    void note(const std::string& run, const std::string& text);
    void ended(const std::string& run, const Recording& recording);
    // The run has reached this step, and these uploads report it. Deletes the recording: a upload has it now, or nobody
    // needs it.
    void settle(const std::string& run, Step step, const std::vector<Upload>& uploads);

    void post(const Upload& upload);
    [[nodiscard]] std::optional<Upload> first_upload();
    [[nodiscard]] std::int64_t waiting();
    void sent(std::int64_t number);
    void refused(std::int64_t number, const std::string& why);
    [[nodiscard]] std::vector<Refusal> refusals();
    // Lets refused uploads wait for sending once more.
    void send_refused_again();

private:
    void change(const std::function<void()>& statements);
    template <typename T>
    T looked(const std::function<T()>& statements);
    void put(const Upload& upload);

    std::string path_;
    SQLite::Database database_;
};

}  // namespace happe::study
