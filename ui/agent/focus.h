// SPDX-License-Identifier: GPL-2.0-or-later
// The application in front, and the sources that report it.
#pragma once

#include <sys/types.h>
#include <QString>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace happe::ui {

struct Focus {
    pid_t pid = 0;  // 0: the window system does not report it
    QString id;     // the application's name from its window, unchecked: app id or class

    friend bool operator==(const Focus&, const Focus&) = default;
};

// A window as its compositor reports it. For an X11 client the compositor knows only the client's own claim about its
// process.
struct ReportedWindow {
    Focus focus;
    std::uint32_t x11_window = 0;  // 0: not an X11 window, or the compositor does not know its number
    bool active_x11 = false;       // it is the active window of the X server

    friend bool operator==(const ReportedWindow&, const ReportedWindow&) = default;
};

// The kinds of sources, the best first. Auto: the best that the session has.
enum class FocusBy { Auto, KWin, Gnome, Toplevel, X11 };

class FocusSource {
public:
    // `changed`: another window may be in front. `answered`: this application is in front, or none. `lost`: the
    // source reports nothing from now on, for this reason; destroy it, but not in this call.
    struct Events {
        std::function<void()> changed;
        std::function<void(const std::optional<Focus>&)> answered;
        std::function<void(const std::string&)> lost;
    };

    FocusSource() = default;
    FocusSource(const FocusSource&) = delete;
    FocusSource& operator=(const FocusSource&) = delete;
    virtual ~FocusSource() = default;

    [[nodiscard]] virtual FocusBy by() const = 0;
    // The name for use in a sentence, such as "sway".
    [[nodiscard]] virtual QString name() const = 0;
    // What the source lacks; empty if nothing.
    [[nodiscard]] virtual QString trouble() const { return {}; }
    // Asks for the application in front. The source answers once, in this call or later, unless `lost` comes before.
    virtual void ask() = 0;
};

using SourceOrError = tl::expected<std::unique_ptr<FocusSource>, std::string>;

}  // namespace happe::ui
