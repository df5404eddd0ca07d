// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/bus/services.h"
#include "governor/happed/attention.h"
#include "governor/happed/hardware.h"
#include "governor/happed/journal.h"
#include "governor/happed/runs/run_session.h"
#include "governor/store/sqlite_profile_store.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace happe {

// What callers on the bus ask of study runs. Begins and ends them, and has the machine follow the one that is on.
class RunDesk final : public RunService {
public:
    struct Hooks {
        std::function<void()> changed;  // session() is another, or none any more: the loop and the focus are to follow
        std::function<void(const Error&)> failed;
    };
    struct Files {
        std::filesystem::path runs;
        std::filesystem::path device_key;
    };

    // All of these outlive it.
    RunDesk(const Files& files, Hardware& hardware, Attention& attention, SqliteProfileStore& store, Journal& journal,
            Hooks hooks)
        : hardware_(hardware),
          attention_(attention),
          store_(store),
          journal_(journal),
          hooks_(std::move(hooks)),
          traces_(files.runs),
          device_key_(files.device_key) {}

    Answer<std::string> start(const Caller& caller, const RunRequest& request) override;
    [[nodiscard]] bool owns(const Caller& caller, const std::string& run) const override;
    Answer<FileDescriptor> stop(const Caller& caller, const std::string& run) override;
    Answer<std::string> facts(const Caller& caller, const std::string& run) override;
    Answer<PublicKey> device_key() override;

    // The run that is on; null: none. hooks.changed tells of another.
    [[nodiscard]] RunSession* session() const { return session_.get(); }

    // Who is served has changed: lends the machine to a kernel condition or takes it back, and notes what comes between
    // the subject and the application.
    void follow_attention();

    // A turn was made: notes the machine once the run's governor is in force, which for HAPPE is after the first turn.
    void turned();

    // Ends the run of a caller that left the bus.
    void left(const std::string& bus_name);

    // Ends the run that is on, if one is. An error if not all of it is on the disk.
    [[nodiscard]] Status end();

private:
    [[nodiscard]] Answer<RunPlan> unseal(const SealedRun& sealed) const;
    [[nodiscard]] Answer<std::string> start(const Caller& caller, const RunPlan& plan, RunSession::Sight sight);
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
    Journal& journal_;
    Hooks hooks_;
    RunTraces traces_;
    DeviceKey device_key_;
    std::unique_ptr<RunSession> session_;
    std::string not_lent_;  // why the machine last could not be lent
};

}  // namespace happe
