// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/core/demand.h"

#include <algorithm>
#include <limits>

namespace happe {

// If the kernel has no fresh measurement, it may show a frequency above the cap.
Khz Running::speed() const {
    const Khz set = ladder->speed(current);
    return ran ? std::min(*ran, set) : set;
}

NormalisedUtilisation Running::normalised() const {
    return {.work = std::uint64_t{utilisation.value} * speed().value, .f_max = ladder->f_max()};
}

Demands::Demands(std::span<const PolicyLadder> policies, const Domains& domains) : domain_of_(policies.size()) {
    constexpr auto kNone = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> order(domains.size(), kNone);  // by lowest id, of each of `domains`
    for (std::size_t index = 0; index < policies.size(); ++index) {
        const auto named = std::ranges::find_if(domains, [id = policies[index].id](const auto& domain) {
            return std::ranges::find(domain, id) != domain.end();
        });
        std::size_t alone = kNone;
        std::size_t& domain = named == domains.end() ? alone : order[static_cast<std::size_t>(named - domains.begin())];
        if (domain == kNone) {
            domain = sums_.size();
            sums_.emplace_back();
        }
        domain_of_[index] = domain;
        ++sums_[domain].policies;
    }
    demands_.reserve(sums_.size());
}

// Rounded down for each CPU, as docs/traces.md says. The speed is at most f_max, so sums fit into 64 bits.
void Demands::Load::add(const Running& policy) {
    const Khz f_max = policy.ladder->f_max();
    const Khz speed = std::min(policy.speed(), f_max);
    for (const Ppm cpu : policy.cpus) {
        if (cpu >= kIdle) {
            work += std::uint64_t{cpu.value} * speed.value / f_max.value;
            utilisation += cpu.value;
        }
    }
}

// A CPU without work shows no speed of its own. We assume the average speed of the other CPUs of its domain.
std::span<const Demand> Demands::measure(std::span<Running> running) {
    for (Sum& sum : sums_) {
        sum = {.policies = sum.policies, .known = {}, .all = {}, .level = {}};
    }
    for (const Running& policy : running) {
        if (policy.ran) {
            sums_[policy.domain].known.add(policy);
        }
    }
    for (Running& policy : running) {
        Sum& sum = sums_[policy.domain];
        if (!policy.ran && sum.known.utilisation > 0) {
            const std::uint64_t share = sum.known.work * kOne.value / sum.known.utilisation;
            policy.ran = Khz{static_cast<std::uint32_t>(share * policy.ladder->f_max().value / kOne.value)};
        }
        sum.all.add(policy);
        const auto busier = [&policy](const Running& than) { return than.normalised() < policy.normalised(); };
        if (sum.busiest == nullptr || busier(*sum.busiest)) {
            sum.busiest = &policy;
        }
        const Khz top = policy.ladder->top();
        if (sum.fastest == nullptr || sum.fastest->ladder->top() < top ||
            (sum.fastest->ladder->top() == top && busier(*sum.fastest))) {
            sum.fastest = &policy;
        }
    }
    demands_.clear();
    for (std::size_t domain = 0; domain < sums_.size(); ++domain) {
        if (sums_[domain].busiest != nullptr) {
            demands_.push_back(demand(domain));
            sums_[domain].level = demands_.back().normalised.level();
        }
    }
    for (Running& policy : running) {
        policy.level = sums_[policy.domain].level;
    }
    return demands_;
}

Demand Demands::demand(std::size_t domain) const {
    const auto& [policies, known, all, busiest, fastest, level] = sums_[domain];
    if (policies == 1) {
        return {domain, busiest, fastest, busiest->normalised()};
    }
    return {.domain = domain,
            .busiest = busiest,
            .fastest = fastest,
            .normalised = {.work = std::min<std::uint64_t>(all.work, kOne.value), .f_max = Khz{1}}};
}

}  // namespace happe
