// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/attention.h"

#include <gtest/gtest.h>

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
