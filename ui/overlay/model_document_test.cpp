// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/model_document.h"

#include <gtest/gtest.h>
#include <QFile>
#include <QTemporaryDir>

namespace happe::ui {
namespace {

const QByteArray kModel = R"({"format": "happe-power-model/1", "machine": "a laptop", "measured": "2026-11-21",
    "utilisations_percent": [0, 100], "frequencies_khz": [1000000, 2000000], "watts": [[10, 20], [30, 60]]})";

QByteArray with(const char* text, const char* replaced) {
    QByteArray model = kModel;
    EXPECT_TRUE(model.contains(text)) << text;
    return model.replace(text, replaced);
}

std::string refusal(const QByteArray& document) {
    const auto read = parse_model(document);
    return read ? "read" : read.error();
}

TEST(ModelDocument, IsReadAsATable) {
    const auto model = parse_model(kModel);
    ASSERT_TRUE(model) << model.error();
    EXPECT_DOUBLE_EQ(model->watts(1'500'000, 0.5), 30.0);
}

TEST(ModelDocument, NamesTheFieldThatIsWrong) {
    EXPECT_EQ(refusal(with("happe-power-model/1", "happe-power-model/2")), "format: \"happe-power-model/1\" is wanted");
    EXPECT_EQ(refusal(with("\"machine\": \"a laptop\", ", "")), "machine: is missing");
    EXPECT_EQ(refusal(with("\"machine\"", "\"colour\": 1, \"machine\"")), "colour: is no field of a power model");
    EXPECT_EQ(refusal(with("[0, 100]", "[0, 120]")),
              "utilisations: two or more are wanted, ascending, from 0 to 100 percent");
    EXPECT_EQ(refusal(with("[1000000, 2000000]", "[2000000, 1000000]")),
              "frequencies: one or more are wanted, in kHz, ascending");
    EXPECT_EQ(refusal(with("[1000000, 2000000]", "[1000000.5, 2000000]")),
              "utilisations_percent, frequencies_khz: lists of numbers are wanted, kHz whole");
    EXPECT_EQ(refusal(with("[1000000, 2000000]", "\"1 GHz\"")),
              "utilisations_percent, frequencies_khz: lists of numbers are wanted, kHz whole");
    EXPECT_EQ(refusal(with("[30, 60]", "[30, \"60\"]")),
              "watts: in each row, a figure above 0 for each utilisation is wanted");
    EXPECT_EQ(refusal(with(", [30, 60]", "")), "watts: a row for each frequency is wanted");
}

TEST(ModelDocument, SaysAtWhichByteItIsNoJson) {
    EXPECT_EQ(refusal("{,}").substr(0, 7), "byte 2:");
    EXPECT_EQ(refusal("[]"), "byte 0: an object is wanted");
}

TEST(ModelFile, IsNamedInItsErrors) {
    const QTemporaryDir folder;
    const QString path = folder.filePath("model.json");
    EXPECT_EQ(read_model(path).error().find(path.toStdString()), 0U);
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kModel);
    file.close();
    EXPECT_TRUE(read_model(path));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(1'100'000, ' '));
    file.close();
    EXPECT_EQ(read_model(path).error(), path.toStdString() + ": is longer than 1 MiB");
}

}  // namespace
}  // namespace happe::ui
