// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/daemon_interface.h"
#include "governor/happed/attention.h"
#include "governor/happed/hardware.h"
#include "governor/happed/runs/run_session.h"
#include "governor/happed/system_log.h"
#include "governor/store/sqlite_profile_store.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace happe {

// Answers requests on the bus about study runs. Begins and ends runs, and lends the machine to the current one.
class RunRequests {
public:
    struct Hooks {
        std::function<void()> begins;   // a run is about to begin: look at the machine again
        std::function<void()> changed;  // a run has begun or ended: replace the loop and the focus
        std::function<void(const Error&)> failed;
    };
    struct Files {
        std::filesystem::path runs;
        std::filesystem::path device_key;
    };

    // All arguments by reference must outlive the object.
    RunRequests(const Files& files, Hardware& hardware, Attention& attention, SqliteProfileStore& store,
                SystemLog& journal, Hooks hooks)
        : hardware_(hardware),
          attention_(attention),
          store_(store),
          log_(journal),
          hooks_(std::move(hooks)),
          traces_(files.runs),
          device_key_(files.device_key) {}

    Answer<std::string> start(const Caller& caller, const RunRequest& request);
    // True if this caller may stop the run without polkit's permission.
    [[nodiscard]] bool owns(const Caller& caller, const std::string& run) const;
    Answer<FileDescriptor> stop(const Caller& caller, const std::string& run);
    // The facts of a run that has ended, as a document: docs/dbus.md.
    Answer<std::string> facts(const Caller& caller, const std::string& run);
    Answer<PublicKey> device_key();

    // The current run; null if there is none.
    [[nodiscard]] RunSession* session() const { return session_.get(); }

    // Call after Attention has changed. Lends the machine to a kernel condition or takes it back, and notes each
    // interruption of the run.
    void follow_attention();

    // Call after each turn. Notes the machine once the run's governor is in force, which for HAPPE is after the first
    // turn.
    void turned();

    // Call when a caller has left the bus. Ends its run.
    void left(const std::string& bus_name);

    // Ends the current run, if there is one. An error if some of its record is not on the disk.
    [[nodiscard]] Status end();

private:
    [[nodiscard]] Answer<RunPlan> unseal(const SealedRun& sealed) const;
    [[nodiscard]] Answer<std::string> begin(const Caller& caller, const RunPlan& plan, RunSession::Sight sight);
    [[nodiscard]] Result<std::unique_ptr<RunSession>> make(RunSession::Terms terms);
    [[nodiscard]] Status erase(const RunPlan& plan);
    [[nodiscard]] Result<std::vector<RunSession::Known>> known(const RunPlan& plan);
    [[nodiscard]] Answer<KeptRun> kept_for(const Caller& caller, const std::string& run) const;
    [[nodiscard]] bool is_on(const std::string& run) const { return session_ && session_->code() == run; }
    void lend_or_take_back();
    void take_back();

    Hardware& hardware_;
    Attention& attention_;
    SqliteProfileStore& store_;
    SystemLog& log_;
    Hooks hooks_;
    RunTraces traces_;
    DeviceKey device_key_;
    std::unique_ptr<RunSession> session_;
    std::string not_lent_;  // why the last attempt to lend the machine failed
};

}  // namespace happe
