// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/status.h"

#include "ui/bus/bus_objects.h"
#include "ui/indicator/surface_choice.h"
#include "ui/overlay/overlay_words.h"

#include <sysexits.h>
#include <QDBusMessage>
#include <QDBusPendingReply>
#include <QJsonDocument>
#include <QJsonObject>
#include <cstdio>
#include <iostream>

namespace happe::ui {
namespace {

std::optional<QVariantMap> properties_of(QDBusConnection bus, const BusObject& object) {
    QDBusPendingReply<QVariantMap> answer = bus.asyncCall(properties_call(object));
    answer.waitForFinished();
    return answer.isValid() ? std::optional(answer.value()) : std::nullopt;
}

// Why there is no overlay; empty if there can be one.
QString overlay_trouble(const Options& options, const QDBusConnection& session_bus) {
    const SurfaceOrError surface =
        surface_for(options, session_bus, [](const std::string& /*why*/) {})({.changed = [] {}, .lost = [] {}});
    return surface ? QString() : QString::fromStdString(surface.error().why);
}

// The source that reports the application in front, or what is missing for one.
struct FocusStatus {
    QString source;
    QString trouble;
};

FocusStatus focus_status(const Options& options, const QDBusConnection& session_bus) {
    const SourceOrError source = open_focus_source(
        options.focus, FocusBy::Auto, session_bus,
        {.changed = [] {}, .answered = [](const auto& /*focus*/) {}, .lost = [](const std::string& /*why*/) {}});
    return source ? FocusStatus{.source = (*source)->name(), .trouble = (*source)->trouble()}
                  : FocusStatus{.source = {}, .trouble = QString::fromStdString(source.error())};
}

QJsonValue source_of(const Power& power) {
    switch (power.from) {
        case Power::From::Battery:
            return QStringLiteral("battery");
        case Power::From::Model:
            return QStringLiteral("model");
    }
    return {};
}

QJsonObject as_json(const std::optional<Shown>& shown, const QString& trouble, const FocusStatus& focus,
                    const QString& application) {
    QJsonObject object{{QStringLiteral("overlay"), trouble.isEmpty()},
                       {QStringLiteral("trouble"), trouble},
                       {QStringLiteral("focus_source"), focus.source.isEmpty() ? QJsonValue() : focus.source},
                       {QStringLiteral("focus_trouble"), focus.trouble},
                       {QStringLiteral("application"), application}};
    if (shown) {
        object.insert(QStringLiteral("remaining_min"),
                      shown->remaining ? QJsonValue(qint64(shown->remaining->count())) : QJsonValue());
        object.insert(QStringLiteral("step"), qint64(shown->step));
        object.insert(QStringLiteral("steps"), qint64(shown->steps));
        object.insert(QStringLiteral("khz"), qint64(shown->khz));
        object.insert(QStringLiteral("watts"), shown->power ? QJsonValue(*shown->power->watts.back()) : QJsonValue());
        object.insert(QStringLiteral("watts_from"), shown->power ? source_of(*shown->power) : QJsonValue());
    }
    return object;
}

QString as_text(const std::optional<Shown>& shown, bool governs, const QString& trouble, bool agent) {
    QString text;
    if (shown) {
        text = OverlayWords::name(*shown) + QStringLiteral(". ") + OverlayWords::description(*shown);
    } else if (governs) {
        text = QStringLiteral("happed serves no user here now.");
    } else {
        text = QStringLiteral("happed is not running.");
    }
    if (!trouble.isEmpty()) {
        text += QLatin1Char('\n') + trouble;
    }
    if (!trouble.isEmpty() && agent) {
        text += QLatin1Char('\n') +
                QStringLiteral(
                    "happe-indicator shows nothing here. It only reports to happed which application is in front.");
    }
    return text;
}

QString as_text(const FocusStatus& focus, const QString& application) {
    QStringList lines;
    if (!application.isEmpty()) {
        lines << QStringLiteral("In front: %1.").arg(application);
    }
    lines << (focus.source.isEmpty() ? QStringLiteral("No program reports which application is in front:")
                                     : QStringLiteral("%1 reports which application is in front.").arg(focus.source));
    if (!focus.trouble.isEmpty()) {
        lines << focus.trouble;
    }
    return lines.join(QLatin1Char('\n'));
}

}  // namespace

int print_status(OverlayState state, const Overlay::Buses& buses, const Options& options) {
    if (options.battery == Battery::Real) {
        if (const auto battery = properties_of(buses.system, battery_object())) {
            state.battery(battery_of(*battery), Moment::zero());
        }
    }
    const auto governor = properties_of(buses.system, governor_object());
    state.governor(governor ? std::optional(governor_of(*governor)) : std::nullopt, Moment::zero());
    const auto shown = state.shown(Moment::zero());
    const QString trouble = overlay_trouble(options, buses.session);
    const FocusStatus focus = focus_status(options, buses.session);
    const QString application = governor ? governor->value(QStringLiteral("Application")).toString() : QString();
    const QByteArray text =
        options.json ? QJsonDocument(as_json(shown, trouble, focus, application)).toJson(QJsonDocument::Compact)
                     : (as_text(shown, governor.has_value(), trouble, !focus.source.isEmpty()) + QLatin1Char('\n') +
                        as_text(focus, application))
                           .toUtf8();
    std::cout.write(text.constData(), text.size()) << '\n';
    return std::cout.flush() ? EX_OK : EX_IOERR;
}

}  // namespace happe::ui
