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

Khz Running::most() const {
    return within ? ladder->speed(*within) : kHighestKhz;
}

NormalisedUtilisation Running::normalised() const {
    return {
        .work = std::min(std::uint64_t{utilisation.value} * speed().value, std::uint64_t{kOne.value} * most().value),
        .f_max = ladder->f_max()};
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
std::uint64_t work_of(std::span<const Ppm> cpus, Khz speed, Khz f_max, Khz most) {
    const Khz within = std::min(speed, f_max);
    const std::uint64_t all = std::uint64_t{kOne.value} * most.value;
    std::uint64_t work = 0;
    for (const Ppm cpu : cpus) {
        work += cpu >= Demands::kIdle ? std::min(std::uint64_t{cpu.value} * within.value, all) / f_max.value : 0;
    }
    return work;
}

void Demands::Load::add(const Running& policy) {
    work += work_of(policy.cpus, policy.speed(), policy.ladder->f_max(), policy.most());
    for (const Ppm cpu : policy.cpus) {
        utilisation += cpu >= kIdle ? cpu.value : 0;
    }
}

// A CPU without work shows no speed of its own. We assume the average speed of the other CPUs of its domain.
std::span<const Demand> Demands::measure(std::span<Running> running) {
    for (Sum& sum : sums_) {
        sum = Sum{.policies = sum.policies};
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
        const NormalisedUtilisation normalised = policy.normalised();
        if (sum.busiest == nullptr || sum.most < normalised) {
            sum.busiest = &policy;
            sum.most = normalised;
        }
        const Khz top = policy.ladder->top();
        if (sum.fastest == nullptr || sum.fastest->ladder->top() < top ||
            (sum.fastest->ladder->top() == top && sum.of_fastest < normalised)) {
            sum.fastest = &policy;
            sum.of_fastest = normalised;
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
    const Sum& sum = sums_[domain];
    const NormalisedUtilisation all{.work = std::min<std::uint64_t>(sum.all.work, kOne.value), .f_max = Khz{1}};
    return {.domain = domain,
            .busiest = sum.busiest,
            .fastest = sum.fastest,
            .normalised = sum.policies == 1 ? sum.most : all};
}

}  // namespace happe
