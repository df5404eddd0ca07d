// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/attention.h"

#include "governor/core/governor.h"

#include <gtest/gtest.h>
#include <array>

namespace happe {
namespace {

const Session kAlice{.id = "1", .user = "alice", .uid = 1000, .session_class = "user"};

Attention attentive() {
    Attention attention;
    attention.session(kAlice);
    return attention;
}

TEST(Attention, OneStepLowerIsForWhomHappeServesAndNotForARun) {
    Attention attention = attentive();
    attention.saver(true);
    EXPECT_TRUE(attention.saves_power());
    attention.run(RunFocus{.whom = {.user = "subject:p1", .app = "torcs"}});
    EXPECT_FALSE(attention.saves_power());
    attention.run({});
    EXPECT_TRUE(attention.saves_power());
    attention.saver(false);
    EXPECT_FALSE(attention.saves_power());
}

TEST(Attention, SomebodyIsPresentWhileTheSessionIsNotIdleAndWouldSaySo) {
    Attention attention;
    EXPECT_FALSE(attention.present());
    Session session = kAlice;
    attention.session(session);
    EXPECT_FALSE(attention.present()) << "nobody may ever set the hint";
    session.tells_idle = true;
    attention.session(session);
    EXPECT_TRUE(attention.present());
    EXPECT_EQ(attention.idle(), std::chrono::minutes{15}) << "the hint is late";
    session.idle = true;
    attention.session(session);
    EXPECT_FALSE(attention.present());
    EXPECT_EQ(attention.served()->user, "alice") << "who only watches a film is served";
    session.idle = false;
    attention.session(session);
    EXPECT_FALSE(attention.present()) << "a probe ends also if the turn comes after the hint has gone";
    attention.turned();
    EXPECT_TRUE(attention.present());
}

TEST(Attention, AParticipantIsPresentInARunOfOneApplicationUnlessTheSessionIsIdle) {
    Attention attention = attentive();
    attention.run(RunFocus{.whom = {.user = "subject:p1", .app = "torcs"}});
    EXPECT_TRUE(attention.present());
    EXPECT_EQ(attention.idle(), Micros{0});
    Session session = kAlice;
    session.idle = true;
    attention.session(session);
    EXPECT_FALSE(attention.present());
    attention.session(kAlice);
    attention.turned();
    attention.run(RunFocus{.whom = {.user = "subject:p1", .app = ""}});
    EXPECT_FALSE(attention.present()) << "a run of every application";
}

TEST(Attention, TheAgentKnowsOfInputSoonerThanTheIdleHintUntilItLeaves) {
    Attention attention = attentive();
    attention.input(false);
    EXPECT_TRUE(attention.present());
    EXPECT_EQ(attention.idle(), std::chrono::minutes{1});
    attention.input(true);
    attention.input(false);
    EXPECT_FALSE(attention.present()) << "a probe ends also if the turn comes later";
    attention.turned();
    EXPECT_TRUE(attention.present());
    attention.session(Session{.id = "2", .user = "bob", .uid = 1001, .session_class = "user", .tells_idle = true});
    EXPECT_EQ(attention.idle(), std::chrono::minutes{15}) << "it is alice's agent";
    attention.session(kAlice);
    attention.input(std::nullopt);
    EXPECT_FALSE(attention.present());
}

TEST(Attention, TheCpuTimeOfTheApplicationInFrontIsAPartOfTheTurn) {
    Attention attention = attentive();
    attention.application("torcs", "/app.slice/torcs");
    EXPECT_EQ(attention.cgroup_in_front(), "/app.slice/torcs");
    attention.front_used(std::chrono::milliseconds{1'500});
    EXPECT_EQ(attention.front(std::chrono::seconds{1}), Ppm{1'500'000}) << "one and a half CPUs";
    attention.front_used(std::chrono::hours{10'000});
    EXPECT_EQ(attention.front(std::chrono::seconds{1}), kMostWork);
    attention.front_used(Micros{0});
    EXPECT_EQ(attention.front(Micros{0}), Ppm{0});
    attention.session(Session{.id = "2", .user = "bob", .uid = 1001, .session_class = "user"});
    EXPECT_EQ(attention.cgroup_in_front(), "");
    attention.run(RunFocus{.whom = {.user = "subject:p1", .app = "torcs"}});
    EXPECT_EQ(attention.front(std::chrono::seconds{1}), kMostWork) << "a participant looks at nothing else";
}

// The person leaves half a minute before the first probe, for an hour, with the CPU as busy as before.
enum class Knows : std::uint8_t { Agent, Hint, Nothing };

void leave_alone(Knows from) {
    constexpr std::array kKhz{Khz{400'000},   Khz{900'000},   Khz{1'400'000}, Khz{1'800'000}, Khz{2'300'000},
                              Khz{2'800'000}, Khz{3'300'000}, Khz{3'700'000}, Khz{4'200'000}, Khz{4'700'000}};
    constexpr auto kLeaves = std::chrono::seconds{90};
    Governor governor({{PolicyId{0}, *Ladder::from(kKhz)}}, {}, kExtended);
    Uafp uafp(Khz{2'800'000});
    Patience patience;
    Session session = kAlice;
    session.tells_idle = from == Knows::Hint;
    Attention attention;
    attention.session(session);
    std::size_t begun = 0;
    for (auto at = std::chrono::seconds{1}; at < kLeaves + std::chrono::hours{1}; at += std::chrono::seconds{1}) {
        if (from == Knows::Agent) {
            attention.input(at >= kLeaves + std::chrono::minutes{1});
        }
        session.idle = from == Knows::Hint && at >= kLeaves + std::chrono::minutes{15};
        attention.session(session);
        const std::array cpus{kOne};
        const std::array samples{PolicySample{.id = PolicyId{0}, .current = uafp.at(Level{}), .ran = {}, .cpus = cpus}};
        const Decision decision = governor.step({.policies = samples,
                                                 .key = {},
                                                 .at = MonoTime(at),
                                                 .present = attention.present(),
                                                 .idle = attention.idle(),
                                                 .front = kOne},
                                                &uafp, &patience);
        begun += decision.probe == ProbeEvent::Begun ? 1 : 0;
        attention.turned();
    }
    EXPECT_EQ(begun > 0, from != Knows::Nothing);
    EXPECT_EQ(uafp, Uafp(Khz{2'800'000})) << "the cap is the one before";
}

TEST(Attention, AnHourOfWorkWithNobodyThereChangesNoCap) {
    leave_alone(Knows::Agent);
    leave_alone(Knows::Hint);
    leave_alone(Knows::Nothing);
}

TEST(Attention, TheApplicationIsKeptThroughALockButNotForAnotherUser) {
    Attention attention = attentive();
    attention.application("torcs");
    Session locked = kAlice;
    locked.locked = true;
    attention.session(locked);
    attention.session(kAlice);
    EXPECT_EQ(attention.served()->app, "torcs");

    attention.session(Session{.id = "2", .user = "bob", .uid = 1001, .session_class = "user"});
    EXPECT_EQ(*attention.served(), (Served{"bob", "desktop"}));
    attention.session(std::nullopt);
    attention.session(kAlice);
    EXPECT_EQ(attention.served()->app, "torcs") << "her session's agent still says so";
}

TEST(Attention, ARunOfEveryApplicationServesItsSubjectInTheOneInFront) {
    Attention attention = attentive();
    attention.run(RunFocus{.whom = {"subject:p07", ""}});
    EXPECT_EQ(*attention.served(), (Served{"subject:p07", "desktop"}));
    attention.application("mail");
    attention.profiles_of(PowerSource::Mains);
    EXPECT_EQ(*attention.served(), (Served{"subject:p07", "mail"}));
    attention.session(Session{.id = "2", .user = "bob", .uid = 1001, .session_class = "user"});
    EXPECT_EQ(attention.served(), nullptr);
    EXPECT_EQ(attention.reason(), "a study's run serves another user");
    attention.session(kAlice);
    EXPECT_EQ(*attention.served(), (Served{"subject:p07", "mail"}));
    attention.run(RunFocus{.whom = {"subject:p07", ""}, .happe = false});
    EXPECT_EQ(attention.served(), nullptr);
    EXPECT_EQ(attention.state(), State::Run);
}

TEST(Attention, AProfileOnMainsIsServedUnlessARunIsOnOrNobodyCouldNameIt) {
    Attention attention = attentive();
    attention.profiles_of(PowerSource::Mains);
    attention.application("mail");
    EXPECT_EQ(*attention.served(), (Served{"alice", "mail", PowerSource::Mains}));
    attention.run(RunFocus{.whom = {"subject:p07", "torcs"}});
    EXPECT_EQ(*attention.served(), (Served{"subject:p07", "torcs"}));
    attention.run(std::nullopt);
    attention.application(std::string(249, 'x'));
    EXPECT_EQ(attention.served()->source, PowerSource::Mains);
    attention.application(std::string(250, 'x'));
    EXPECT_EQ(attention.served()->source, PowerSource::Both);
}

TEST(Attention, AContestedMachineIsLeftAloneAndAnAbsentPersonComesFirst) {
    Attention attention = attentive();
    attention.run(RunFocus{.whom = {"subject:p07", "torcs"}});
    attention.contested("policy 0 was set to performance three times");
    EXPECT_EQ(attention.state(), State::Contested);
    EXPECT_EQ(attention.reason(), "policy 0 was set to performance three times");
    EXPECT_EQ(attention.served(), nullptr);
    attention.session(std::nullopt);
    EXPECT_EQ(attention.state(), State::Released);
}

}  // namespace
}  // namespace happe
