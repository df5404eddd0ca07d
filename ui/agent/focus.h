// SPDX-License-Identifier: GPL-2.0-or-later
// Which application is in front, and who says so.
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
    pid_t pid = 0;  // 0: the window system does not say
    QString id;     // the application as its window calls it: app id or class, which nobody has checked

    friend bool operator==(const Focus&, const Focus&) = default;
};

// As a compositor tells it. Of an X11 client it has only the process that the client claims.
struct ToldWindow {
    Focus focus;
    std::uint32_t x11_window = 0;  // 0: of no X11 client, or the compositor has no number
    bool active_x11 = false;       // of the X11 client whose window is the X server's active one

    friend bool operator==(const ToldWindow&, const ToldWindow&) = default;
};

// Who tells, the best one first; Auto: the best that the session has.
enum class FocusBy { Auto, Sway, Hyprland, KWin, Gnome, Toplevel, X11 };

class FocusSource {
public:
    // `changed`: another window may be in front. `answered`: this one is, or none. `lost`: the source reports nothing
    // from now on, and why; destroy it, but not in this call.
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
    // In a sentence: "sway".
    [[nodiscard]] virtual QString name() const = 0;
    // What it lacks; empty if nothing.
    [[nodiscard]] virtual QString trouble() const { return {}; }
    // What is in front now? Answers once, in this call or later, unless it is lost before.
    virtual void ask() = 0;
};

using SourceOrError = tl::expected<std::unique_ptr<FocusSource>, std::string>;

}  // namespace happe::ui
