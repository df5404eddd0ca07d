// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/overlay/model_document.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QJsonParseError>
#include <QJsonValue>
#include <QStringList>
#include <algorithm>
#include <optional>
#include <utility>

namespace happe::ui {
namespace {

constexpr qint64 kMostBytes = 1 << 20;
constexpr double kMostKhz = 20e6;

tl::unexpected<ModelError> wrong(const QString& what) {
    return tl::unexpected(what.toStdString());
}

// None if an entry is not a number.
std::optional<std::vector<double>> numbers(const QJsonValue& value) {
    std::vector<double> found;
    for (const QJsonValue entry : value.toArray()) {
        if (!entry.isDouble()) {
            return std::nullopt;
        }
        found.push_back(entry.toDouble());
    }
    return value.isArray() ? std::optional(std::move(found)) : std::nullopt;
}

const QStringList& fields() {
    static const QStringList names{QStringLiteral("format"),          QStringLiteral("machine"),
                                   QStringLiteral("measured"),        QStringLiteral("utilisations_percent"),
                                   QStringLiteral("frequencies_khz"), QStringLiteral("watts")};
    return names;
}

// The mistake in the fields; empty if there is none.
QString wrong_fields(const QJsonObject& document) {
    for (const QString& name : fields()) {
        if (!document.contains(name)) {
            return name + QStringLiteral(": is missing");
        }
    }
    for (const QString& name : document.keys()) {
        if (!fields().contains(name)) {
            return name + QStringLiteral(": is no field of a power model");
        }
    }
    return document.value(QStringLiteral("format")) == QStringLiteral("happe-power-model/1")
               ? QString()
               : QStringLiteral("format: \"happe-power-model/1\" is wanted");
}

// A frequency is a whole number of kHz.
bool is_khz(double value) {
    return value >= 1.0 && value <= kMostKhz && value == double(std::uint32_t(value));
}

}  // namespace

tl::expected<PowerModel, ModelError> parse_model(const QByteArray& document) {
    QJsonParseError error;
    const QJsonDocument parsed = QJsonDocument::fromJson(document, &error);
    if (error.error != QJsonParseError::NoError || !parsed.isObject()) {
        return wrong(QStringLiteral("byte %1: %2")
                         .arg(error.offset)
                         .arg(error.error != QJsonParseError::NoError ? error.errorString()
                                                                      : QStringLiteral("an object is wanted")));
    }
    const QJsonObject object = parsed.object();
    if (const QString what = wrong_fields(object); !what.isEmpty()) {
        return wrong(what);
    }
    auto utilisations = numbers(object.value(QStringLiteral("utilisations_percent")));
    const auto frequencies = numbers(object.value(QStringLiteral("frequencies_khz")));
    if (!utilisations || !frequencies || !std::ranges::all_of(*frequencies, is_khz)) {
        return wrong(QStringLiteral("utilisations_percent, frequencies_khz: lists of numbers are wanted, kHz whole"));
    }
    std::ranges::transform(*utilisations, utilisations->begin(), [](double percent) { return percent / 100.0; });
    PowerModel::Table table{.utilisations = *std::move(utilisations),
                            .frequencies = {frequencies->begin(), frequencies->end()}};
    for (const QJsonValue row : object.value(QStringLiteral("watts")).toArray()) {
        table.watts.push_back(numbers(row).value_or(std::vector<double>{}));
    }
    return PowerModel::from(std::move(table));
}

tl::expected<PowerModel, ModelError> read_model(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        return wrong(path + QStringLiteral(": ") + file.errorString());
    }
    const QByteArray document = file.read(kMostBytes + 1);
    if (document.size() > kMostBytes) {
        return wrong(path + QStringLiteral(": is longer than 1 MiB"));
    }
    return parse_model(document).map_error([&](const ModelError& error) { return path.toStdString() + ": " + error; });
}

}  // namespace happe::ui
