// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpufreq_control.h"

#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

namespace happe {
namespace {

using Frequency = Cpufreq::Frequency;

constexpr const char* kUserspace = "userspace";
constexpr const char* kPerformance = "performance";

Status both(const Status& first, const Status& second) {
    if (first && second) {
        return {};
    }
    return first || second ? failure(first ? second.error().message : first.error().message)
                           : failure(first.error().message + "; " + second.error().message);
}

// Finds an entry in a list ordered by id. A machine may have hundreds, each needed several times a period; mostly an id
// is also the index.
template <typename Entries>
auto* entry_of(Entries& entries, PolicyId policy) {
    if (policy.value < entries.size() && entries[policy.value].id == policy) {
        return &entries[policy.value];
    }
    const auto entry = std::ranges::lower_bound(entries, policy, {}, [](const auto& each) { return each.id; });
    return entry == entries.end() || entry->id != policy ? nullptr : &*entry;
}

// Prefers the average, the better measurement, if the machine has it. It may be missing for an idle policy: an error.
Frequency speedometer(const Cpufreq& cpufreq, Backend backend, PolicyId policy) {
    const auto average = cpufreq.frequency(policy, Frequency::Average);
    return backend == Backend::Cap && (!average || *average) ? Frequency::Average : Frequency::Current;
}

}  // namespace

bool is_same(const CpufreqPolicy& a, const CpufreqPolicy& b) {
    return a.id == b.id && a.cpus == b.cpus && a.driver == b.driver && a.frequencies == b.frequencies &&
           a.lowest == b.lowest && a.highest == b.highest && backend_of({&a, 1}) == backend_of({&b, 1});
}

std::string in_words(std::span<const PolicyError> errors) {
    if (errors.empty()) {
        return {};
    }
    std::vector<std::uint32_t> others;
    for (const PolicyError& error : errors) {
        if (error.policy && error.policy != errors.front().policy) {
            others.push_back(error.policy->value);
        }
    }
    if (others.empty()) {
        return errors.front().message;
    }
    std::ranges::sort(others);
    others.erase(std::ranges::unique(others).begin(), others.end());
    return fmt::format("{}; the same or another error on polic{} {}", errors.front().message,
                       others.size() == 1 ? "y" : "ies", number_list(others));
}

Result<std::unique_ptr<CpufreqControl>> CpufreqControl::open(Cpufreq& cpufreq, ControlSettings settings) {
    auto known = cpufreq.policies();
    if (!known) {
        return tl::unexpected<Error>(known.error());
    }
    if (known->empty()) {
        return failure("the kernel has no cpufreq policy on line");
    }
    std::vector<Policy> policies;
    for (const CpufreqPolicy& policy : *known) {
        const auto ladder = make_ladder(policy, settings.speeds, settings.steps);
        if (!ladder) {
            return tl::unexpected<Error>(ladder.error());
        }
        policies.push_back({policy.id, policy.cpus, *ladder});
    }
    return std::unique_ptr<CpufreqControl>(
        new CpufreqControl(cpufreq, std::move(settings), std::move(*known), std::move(policies)));
}

CpufreqControl::CpufreqControl(Cpufreq& cpufreq, ControlSettings settings, std::vector<CpufreqPolicy> known,
                               std::vector<Policy> policies)
    : cpufreq_(cpufreq),
      settings_(std::move(settings)),
      known_(std::move(known)),
      policies_(std::move(policies)),
      backend_(backend_of(known_)),
      file_(backend_ == Backend::Setspeed ? Frequency::Speed : Frequency::Max),
      speedometer_(speedometer(cpufreq_, backend_, policies_.front().id)),
      outlines_(known_.size()) {}

CpufreqControl::~CpufreqControl() {
    if (mode_ != Mode::Released) {  // otherwise the file may belong to another object, which has control
        static_cast<void>(release());
    }
}

std::optional<Khz> CpufreqControl::current(PolicyId policy) const {
    const Hold* const held = entry_of(holds_, policy);
    if (mode_ == Mode::Governing && held != nullptr && held->latest) {
        return held->latest;
    }
    const auto now = cpufreq_.frequency(policy, mode_ == Mode::Governing ? file_ : speedometer_);
    return now ? *now : std::nullopt;
}

std::optional<Khz> CpufreqControl::limit(PolicyId policy) const {
    const Hold* const held = entry_of(holds_, policy);
    if (mode_ != Mode::Governing || held == nullptr || held->state != State::Ours) {
        return std::nullopt;
    }
    const Khz most = limits_of(*held).most;
    return most < known(*held).highest ? std::optional(most) : std::nullopt;
}

std::optional<Khz> CpufreqControl::efficient(PolicyId policy) const {
    const CpufreqPolicy* const known = entry_of(known_, policy);
    return known != nullptr ? known->efficient : std::nullopt;
}

std::string CpufreqControl::scene() const {
    std::string scene;
    for (const Policy& policy : policies_) {
        const auto now = cpufreq_.settings(policy.id);
        const bool known = now && *now;
        scene += known ? fmt::format("{} {}\n", (*now)->governor, (*now)->speed.value_or(Khz{}).value) : "\n";
    }
    return scene;
}

bool CpufreqControl::changed() const {
    const auto now = cpufreq_.policies();
    return now && !std::ranges::all_of(*now, [this](const CpufreqPolicy& policy) {
               return std::ranges::any_of(known_, [&](const CpufreqPolicy& known) { return is_same(known, policy); });
           });
}

Status CpufreqControl::acquire() {
    if (mode_ == Mode::Governing) {
        return {};
    }
    return take(Mode::Governing, {.name = backend_ == Backend::Setspeed ? kUserspace : "", .tunables = {}});
}

Status CpufreqControl::lend(const ScalingGovernor& governor) {
    return take(Mode::Lent, governor);
}

Status CpufreqControl::fix(std::size_t step) {
    Status status = release().and_then([this] { return acquire(); });
    for (const Policy& policy : policies_) {
        if (status) {
            status = set(policy.id, policy.ladder[std::min(step, policy.ladder.size() - 1)]);
        }
    }
    return status ? status : both(status, release());
}

Status CpufreqControl::take(Mode mode, ScalingGovernor ours) {
    const auto is_preference = [](const FoundPolicy& left) { return left.governor.empty() && !left.capped; };
    const Status before = release();
    if (!before && (found_.empty() || !std::ranges::all_of(found_, is_preference))) {
        return heeded(std::nullopt, before);
    }
    if (const Status taken = epp_required_ ? takes(epp_) : Status(); !taken) {
        return heeded(std::nullopt, taken);
    }
    ours_ = std::move(ours);
    retakes_.clear();
    holds_.clear();
    for (const Policy& policy : policies_) {
        holds_.push_back({.id = policy.id});
    }
    for (Hold& hold : holds_) {
        if (const Status noted = note(hold); !noted) {
            return heeded(hold.id, noted);
        }
    }
    // Runs before the first write to the machine, so that the file is on the disk first.
    if (const Status saved = save_found(settings_.found, found_); !saved) {
        return heeded(std::nullopt, saved);
    }
    mode_ = mode;
    for (Hold& hold : holds_) {
        const Status seized = hold.state == State::OffLine ? Status() : seize(hold);
        if (!seized) {
            const Status released = release();
            return heeded(hold.id, both(seized, released));
        }
    }
    const Status preferred = set_epps();
    return preferred || !epp_required_ ? Status() : heeded(std::nullopt, both(preferred, release()));
}

Status CpufreqControl::takes(const std::string& epp) const {
    Status status;
    for (const CpufreqPolicy& policy : known_) {
        status = status && !epp.empty() ? takes(policy, epp) : status;
    }
    return status;
}

// If HAPPE leaves the governor alone, the present governor decides this too.
Status CpufreqControl::takes(const CpufreqPolicy& policy, const std::string& epp) const {
    if (policy.epps.empty()) {
        return failure(
            fmt::format("policy{}: the driver {} has no energy performance preference, so HAPPE cannot "
                        "set \"{}\"",
                        policy.id.value, policy.driver, epp));
    }
    if (std::ranges::count(policy.epps, epp) == 0) {
        return failure(fmt::format("policy{}: the driver {} has no energy performance preference \"{}\", only {}",
                                   policy.id.value, policy.driver, epp, fmt::join(policy.epps, ", ")));
    }
    const auto now = cpufreq_.settings(policy.id);
    if (backend_ == Backend::Cap && epp != kPerformance && now && *now && (*now)->governor == kPerformance) {
        return failure(
            fmt::format("policy{}: the kernel does not set the energy performance preference \"{}\" "
                        "while scaling_governor is \"performance\"; choose another governor",
                        policy.id.value, epp));
    }
    return {};
}

// True while the governor performance shows this preference instead of the one that comes back after it.
bool CpufreqControl::is_hidden(const Hold& hold) const {
    const bool waits = epp_.empty() ? !found(hold.id)->epp.empty() : epp_ == kPerformance;
    const auto now = waits ? cpufreq_.settings(hold.id).value_or(std::nullopt) : std::nullopt;
    return backend_ == Backend::Cap && now && now->governor == kPerformance;
}

// Gives back a preference that release() could not, and that is HAPPE's no longer.
void CpufreqControl::give_back_late(Hold& hold) {
    FoundPolicy& entry = *found(hold.id);
    hold.preferred = true;
    const bool ours = !entry.epp.empty() && cpufreq_.epp(hold.id).value_or(std::nullopt) == entry.epp;
    if (ours && cpufreq_.set_epp(hold.id, entry.found_epp)) {
        entry.epp = entry.found_epp = "";
        unsaved_ = true;
    }
}

// Sets the preference where HAPPE has not tried to, as soon as the governor allows it. The file is on the disk before
// the first write.
Status CpufreqControl::set_epps() {
    std::vector<Hold*> ready;
    for (Hold& hold : holds_) {
        if (hold.preferred || hold.state != State::Ours || is_hidden(hold)) {
            continue;
        }
        if (epp_.empty()) {
            give_back_late(hold);
            continue;
        }
        std::erase_if(epp_errors_, [&](const PolicyError& error) { return error.policy == hold.id; });
        const Status noted = takes(known(hold), epp_).and_then([&] { return note_epp(*found(hold.id)); });
        if (noted) {
            ready.push_back(&hold);
        } else {
            epp_errors_.push_back({hold.id, noted.error().message});
        }
    }
    const Status saved = ready.empty() ? Status() : save_found(settings_.found, found_);
    for (Hold* const hold : ready) {
        hold->preferred = true;
        const bool is_there = cpufreq_.epp(hold->id).value_or(std::nullopt) == epp_;
        const Status set = saved && !is_there ? cpufreq_.set_epp(hold->id, epp_) : saved;
        if (!set) {
            epp_errors_.push_back({hold->id, set.error().message});
        }
    }
    return epp_errors_.empty() ? Status() : failure(in_words(epp_errors_));
}

Status CpufreqControl::leave_epp() {
    if (mode_ == Mode::Released) {  // release() reads what is left from the file
        return forget_epp(settings_.found);
    }
    forget_epp(found_);
    return save_found(settings_.found, found_);
}

// If we hold no state, restore the file's state: changes by a previous process, or changes that HAPPE could not undo
// because a policy was off line or refused it.
Status CpufreqControl::release() {
    contested_ = false;
    errors_.clear();
    epp_errors_.clear();
    if (mode_ == Mode::Released) {
        const Status restored = restore_found(settings_.found, cpufreq_);
        return load_found(settings_.found).and_then([&](FoundState&& left) {
            found_ = std::move(left);
            std::ranges::sort(found_, {}, &FoundPolicy::id);
            return restored;
        });
    }
    return hand_back();
}

Status CpufreqControl::hand_back() {
    if (std::ranges::any_of(holds_, [](const Hold& hold) { return hold.before.has_value(); })) {
        cpufreq_.wait_for_maximum();
    }
    for (Hold& hold : holds_) {
        if (mode_ == Mode::Governing && backend_ == Backend::Cap && hold.state == State::Ours && !hold.probed) {
            static_cast<void>(look_at_cap(hold));  // a limit set since the last look is the newest limit
        }
    }
    mode_ = Mode::Released;
    unsaved_ = false;
    for (const FoundPolicy& entry : found_) {
        given_[entry.id] = entry.found.max;
    }
    const Status given = give_back(found_, cpufreq_);
    return both(given, save_found(settings_.found, found_));
}

FoundPolicy* CpufreqControl::found(PolicyId policy) {
    return entry_of(found_, policy);
}

const FoundPolicy* CpufreqControl::found(PolicyId policy) const {
    return entry_of(found_, policy);
}

// There is one entry for each of policies_, so each has a hold.
const CpufreqPolicy& CpufreqControl::known(const Hold& hold) const {
    return known_[static_cast<std::size_t>(&hold - holds_.data())];
}

CpufreqControl::Hold* CpufreqControl::hold(PolicyId policy) {
    return entry_of(holds_, policy);
}

// This policy went off line with HAPPE's settings and still has them, so its entry from before is still right.
Status CpufreqControl::note(Hold& hold) {
    const auto now = cpufreq_.settings(hold.id);
    if (!now || !*now) {
        hold.state = State::OffLine;
        return now ? Status() : tl::unexpected<Error>(now.error());
    }
    const auto tunables = cpufreq_.tunables(hold.id, (*now)->governor);
    if (!tunables) {
        return tl::unexpected<Error>(tunables.error());
    }
    FoundPolicy entry{.id = hold.id, .found = **now, .tunables = *tunables};
    const FoundPolicy* const old = found(hold.id);
    if (old != nullptr && is_ours(*old, **now, cpufreq_)) {
        entry = *old;
    } else {
        const auto given = given_.find(hold.id);
        const Khz highest = highest_now(hold);
        const Khz hidden = given != given_.end() && given->second > highest ? given->second : kNoLimit;
        entry.found.max = entry.found.max >= highest ? hidden : entry.found.max;
        entry.epp = old != nullptr ? old->epp : "";
        entry.found_epp = old != nullptr ? old->found_epp : "";
    }
    std::erase_if(found_, [&](const FoundPolicy& other) { return other.id == hold.id; });
    entry.governor = ours_.name;
    entry.capped = ours_.name.empty();
    hold.asked = hold.before = hold.probed = std::nullopt;
    hold.preferred = false;
    hold.floor = (*now)->min;
    hold.ceiling = (*now)->max;
    if (entry.capped) {
        hold.latest = std::min(hold.ceiling, known(hold).highest);
        entry.unknown_max = entry.found.max == hold.ceiling ? std::optional(hold.ceiling) : entry.unknown_max;
    }
    found_.insert(std::ranges::upper_bound(found_, entry.id, {}, &FoundPolicy::id), entry);
    return {};
}

// A preference of HAPPE's from before is not the one to restore.
Status CpufreqControl::note_epp(FoundPolicy& entry) const {
    const auto now = cpufreq_.epp(entry.id);
    if (!now || !*now) {
        return failure(now ? fmt::format("policy{}: it has no energy performance preference", entry.id.value)
                           : now.error().message);
    }
    entry.found_epp = entry.epp == *now ? entry.found_epp : **now;
    entry.epp = epp_;
    return {};
}

Status CpufreqControl::seize(Hold& hold) {
    Status status = ours_.name.empty() ? Status() : cpufreq_.set_governor(hold.id, ours_.name);
    status = status ? set_tunables(hold) : status;
    if (status) {
        hold.state = State::Ours;
        hold.asked.reset();
        status = bring_about(hold);
    }
    if (!status) {
        return status;
    }
    const auto now = cpufreq_.settings(hold.id);
    if (!now) {
        return tl::unexpected<Error>(now.error());
    }
    if (*now && !ours_.name.empty() && (*now)->governor != ours_.name) {
        return failure(fmt::format("policy{}: scaling_governor is \"{}\" after \"{}\" was written", hold.id.value,
                                   (*now)->governor, ours_.name));
    }
    return {};  // keep_up() notices if the policy went off line meanwhile
}

Status CpufreqControl::set_tunables(Hold& hold) {
    for (const auto& [name, value] : ours_.tunables) {
        if (const Status set = cpufreq_.set_tunable(hold.id, ours_.name, name, value); !set) {
            return set;
        }
    }
    return cpufreq_.tunables(hold.id, ours_.name).map([&](Tunables&& now) {
        std::erase_if(now, [this](const auto& tunable) { return !ours_.tunables.contains(tunable.first); });
        hold.tunables = std::move(now);
    });
}

Status CpufreqControl::set(PolicyId policy, Khz khz) {
    if (contested_ || replaced_) {
        return {};
    }
    Hold* const held = hold(policy);
    if (mode_ != Mode::Governing || held == nullptr) {
        return failure(fmt::format("policy{}: not acquired", policy.value));
    }
    held->wanted = khz;
    held->ran.reset();
    if (held->state != State::Ours) {
        return {};
    }
    const Status looked = backend_ == Backend::Cap ? look_at_cap(*held) : Status();
    const Status written = looked ? bring_about(*held) : looked;
    if (written) {
        return {};
    }
    const auto now = cpufreq_.settings(policy);
    const bool ours = !now || (*now && is_ours(*found(policy), **now, cpufreq_));
    return ours ? heeded(policy, written) : Status();
}

void CpufreqControl::heed(std::optional<PolicyId> policy, const Status& status) {
    if (!status) {
        errors_.push_back({policy, status.error().message});
    }
}

Status CpufreqControl::heeded(std::optional<PolicyId> policy, Status status) {
    heed(policy, status);
    return status;
}

}  // namespace happe
