// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/server.h"

#include "tests/disk.h"
#include "ui/study/server/enrolment.h"

#include <gtest/gtest.h>
#include <QTemporaryDir>

namespace happe::study {
namespace {

const QString kJson = QStringLiteral("application/json");
const QString kHtml = QStringLiteral("text/html; charset=utf-8");

Reply success(int status, const QString& type, const QByteArray& body) {
    return {.status = status, .failure = {}, .type = type, .body = body};
}

Reply problem(int status, const QByteArray& kind) {
    return {.status = status,
            .failure = {},
            .type = QStringLiteral("application/problem+json"),
            .body = R"({"type":"urn:happe:problem:)" + kind + R"(","detail":"Because."})"};
}

TEST(Answer, OfTheStudyServerIsDoneOnceItIsWhole) {
    EXPECT_EQ(answer_of(success(200, kJson, "{}")).verdict, Verdict::Done);
    EXPECT_EQ(answer_of(success(201, kJson + "; charset=utf-8", "{}\n")).verdict, Verdict::Done);
    EXPECT_EQ(answer_of(success(204, {}, {})).verdict, Verdict::Done);
    EXPECT_EQ(answer_of(success(200, kJson, R"({"code":)")).verdict, Verdict::Later);
    Reply cut = success(200, kJson, "{}");
    cut.failure = QStringLiteral("Connection closed");
    EXPECT_EQ(answer_of(cut).verdict, Verdict::Later);
    EXPECT_EQ(answer_of(cut).detail, QStringLiteral("Connection closed"));
}

TEST(Answer, OfAnybodyElseIsToComeYet) {
    const QByteArray page = "<html>Sign in to this network</html>";
    for (const int status : {200, 204, 302, 400, 403, 404, 407, 408, 413, 502}) {
        const Answer answer = answer_of(success(status, kHtml, page));
        EXPECT_EQ(answer.verdict, Verdict::Later) << status;
        EXPECT_FALSE(answer.detail.isEmpty());
    }
    EXPECT_EQ(answer_of(success(200, {}, {})).verdict, Verdict::Later);
    EXPECT_EQ(answer_of(success(404, kJson, R"({"type":"about:blank"})")).verdict, Verdict::Later);
    EXPECT_EQ(answer_of({}).verdict, Verdict::Later) << "none came";
}

TEST(Answer, IsARefusalOnlyIfTheStudyServerSaysSoForGood) {
    const Answer refused = answer_of(problem(409, "run-state"));
    EXPECT_EQ(refused.verdict, Verdict::Refused);
    EXPECT_EQ(refused.problem, QStringLiteral("run-state"));
    EXPECT_EQ(refused.detail, QStringLiteral("Because."));
    EXPECT_EQ(answer_of(problem(404, "not-found")).verdict, Verdict::Refused);
    EXPECT_EQ(answer_of(problem(409, "too-early")).verdict, Verdict::Later);
    EXPECT_EQ(answer_of(problem(401, "bad-token")).verdict, Verdict::Later);
    EXPECT_EQ(answer_of(problem(429, "too-many-requests")).verdict, Verdict::Later);
    EXPECT_EQ(answer_of(problem(507, "storage-full")).verdict, Verdict::Later);
}

TEST(Enrolment, IsOnTheDiskWhenItIsWritten) {
    const QTemporaryDir folder;
    const Disk disk(folder.path().toStdString());
    ASSERT_TRUE(write_enrolment(folder.path(), {.server = {}, .study = "a", .device = "b", .token = "c"}));
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
}

}  // namespace
}  // namespace happe::study
