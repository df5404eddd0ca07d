// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/bus/logind.h"

#include "governor/bus/wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <cstdint>
#include <tuple>

namespace happe {
namespace {

constexpr const char* kService = "org.freedesktop.login1";
constexpr const char* kManager = "/org/freedesktop/login1";
constexpr const char* kManagerInterface = "org.freedesktop.login1.Manager";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";

// Reads the properties of a session that happed needs.
std::optional<Session> read_session(sd_bus_message* message, const std::string& id) {
    Session session{.id = id};
    std::string type;
    std::uint64_t idle_since = 0;  // the last change of IdleHint; in a text login that of the terminal, unannounced
    const bool read = wire::read_dictionary(message, [&](const std::string& name) {
        const auto take = [&]<typename T>(T& field) {
            const auto value = wire::read_variant<T>(message);
            field = value.value_or(T());
            return value.has_value();
        };
        if (name == "User") {
            std::tuple<std::uint32_t, wire::ObjectPath> user;
            const bool good = take(user);
            session.uid = std::get<0>(user);
            return good;
        }
        if (name == "Name" || name == "Class") {
            return take(name == "Name" ? session.user : session.session_class);
        }
        if (name == "Type") {
            return take(type);
        }
        if (name == "IdleSinceHint") {
            return take(idle_since);
        }
        if (name == "LockedHint" || name == "IdleHint") {
            return take(name == "IdleHint" ? session.idle : session.locked);
        }
        return sd_bus_message_skip(message, "v") >= 0;
    });
    session.tells_idle = type != "tty" && (session.idle || idle_since != 0);
    return read ? std::optional(session) : std::nullopt;
}

}  // namespace

Logind::Logind(sd_bus* bus, const std::string& seat, std::function<void()> changed)
    : bus_(bus), seat_path_("/org/freedesktop/login1/seat/" + seat), changed_(std::move(changed)) {}

Status Logind::start() {
    const std::string sleep =
        fmt::format("type='signal',sender='{}',interface='{}',member='PrepareForSleep'", kService, kManagerInterface);
    for (const int status :
         {bus::watch(seat_match_, bus_, bus::property_changes(kService, seat_path_), on_change, this),
          bus::watch(owner_match_, bus_, bus::owner_changes(kService), on_owner, this),
          bus::watch(sleep_match_, bus_, sleep, on_sleep, this)}) {
        if (status < 0) {
            return tl::unexpected<Error>(bus::error_of(status));
        }
    }
    inhibit();
    refresh();
    return {};
}

// Asks for the seat, then for its session. A newer question destroys the slot of an older one, and with it the answer.
void Logind::refresh() {
    session_call_.reset();
    bus::take(seat_call_, [this](sd_bus_slot** raw) {
        return sd_bus_call_method_async(bus_, raw, kService, seat_path_.c_str(), kProperties, "Get", on_seat, this,
                                        "ss", "org.freedesktop.login1.Seat", "ActiveSession");
    });
}

void Logind::ask_session(const char* id, const char* path) {
    session_id_ = id;
    if (session_path_ != path) {
        session_path_ = path;
        bus::watch(session_match_, bus_, bus::property_changes(kService, session_path_), on_change, this);
    }
    bus::take(session_call_, [this](sd_bus_slot** raw) {
        return sd_bus_call_method_async(bus_, raw, kService, session_path_.c_str(), kProperties, "GetAll", on_session,
                                        this, "s", "org.freedesktop.login1.Session");
    });
}

void Logind::inhibit() {
    bus::take(inhibit_call_, [this](sd_bus_slot** raw) {
        return sd_bus_call_method_async(bus_, raw, kService, kManager, kManagerInterface, "Inhibit", on_inhibited, this,
                                        "ssss", "sleep", "HAPPE", "Restores the processor's governor before sleep",
                                        "delay");
    });
}

void Logind::become(std::optional<Session> session) {
    if (session != active_) {
        active_ = std::move(session);
        changed_();
    }
}

int Logind::on_change(sd_bus_message* /*message*/, void* self, sd_bus_error* /*error*/) {
    static_cast<Logind*>(self)->refresh();
    return 0;
}

// logind has restarted or ended. A new logind does not announce the end of a sleep that the old one announced.
int Logind::on_owner(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<Logind*>(data);
    const char* name = nullptr;
    const char* before = nullptr;
    const char* now = nullptr;
    if (sd_bus_message_read(message, "sss", &name, &before, &now) >= 0 && *now != '\0') {
        self->asleep_ = false;
        self->inhibit();
        self->refresh();
    } else {
        self->become(std::nullopt);
    }
    return 0;
}

int Logind::on_sleep(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<Logind*>(data);
    int asleep = 0;
    if (sd_bus_message_read(message, "b", &asleep) >= 0 && self->asleep_ != (asleep != 0)) {
        self->asleep_ = asleep != 0;
        if (!self->asleep_) {
            self->inhibit();
        }
        self->changed_();
    }
    return 0;
}

int Logind::on_seat(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<Logind*>(data);
    const char* id = nullptr;
    const char* path = nullptr;
    if (sd_bus_message_is_method_error(answer, nullptr) != 0 ||
        sd_bus_message_read(answer, "v", "(so)", &id, &path) < 0 || *id == '\0') {
        self->session_path_.clear();
        self->session_match_.reset();
        self->become(std::nullopt);
    } else {
        self->ask_session(id, path);
    }
    return 0;
}

int Logind::on_session(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    auto* const self = static_cast<Logind*>(data);
    const bool good = sd_bus_message_is_method_error(answer, nullptr) == 0;
    self->become(good ? read_session(answer, self->session_id_) : std::nullopt);
    return 0;
}

// Without the inhibitor, the machine may sleep before happed has restored its settings. happed then restores them on
// waking.
int Logind::on_inhibited(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) {
    int fd = -1;
    if (sd_bus_message_is_method_error(answer, nullptr) == 0 && sd_bus_message_read(answer, "h", &fd) >= 0) {
        static_cast<Logind*>(data)->inhibitor_ = FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }
    return 0;
}

}  // namespace happe
