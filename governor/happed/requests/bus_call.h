// SPDX-License-Identifier: GPL-2.0-or-later
// Serves a call of a method of org.happe.Governor1: reads its arguments, asks for permission, answers.
#pragma once

#include "governor/bus/daemon_types.h"
#include "governor/happed/requests/daemon_object.h"

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace happe {

// A call without an answer yet.
struct Call {
    DaemonObject& object;
    Caller caller;
    std::shared_ptr<sd_bus_message> message;
};

inline constexpr std::size_t kLongestString = 255;
inline constexpr std::size_t kLongestDocument = std::size_t{1} << 20U;

// Reads the next argument, a string of at most `most` bytes. A refusal contains its name.
Answer<std::string> text_argument(sd_bus_message* message, std::string_view name, std::size_t most);
Answer<Key> key_argument(sd_bus_message* message, std::string_view name);

// Reads the next argument. sd-bus itself refuses messages with a wrong signature.
template <typename T>
Answer<T> argument(sd_bus_message* message, std::string_view name) {
    if constexpr (std::is_same_v<T, std::string>) {
        return text_argument(message, name, kLongestString);
    } else if constexpr (std::is_same_v<T, ProfilesText>) {
        return text_argument(message, name, kLongestDocument).map([](std::string&& text) {
            return ProfilesText{std::move(text)};
        });
    } else if constexpr (std::is_same_v<T, Key>) {
        return key_argument(message, name);
    } else if constexpr (std::is_same_v<T, RunRequest>) {
        return read_run_request(message);
    } else {
        auto value = wire::Type<T>::read(message);
        return value ? Answer<T>(*std::move(value))
                     : refusal(ServiceError::Kind::InvalidArgument, std::string(name) + ": cannot be read");
    }
}

void refuse(sd_bus_message* call, const ServiceError& error);

// Calls `go_on`, at once or later, if polkit allows the caller this action (null: it needs no permission). Otherwise
// refuses the call.
void with_permission(const Call& call, const char* action, std::function<void()> go_on);

inline bool append_value(sd_bus_message* /*reply*/, const Answer<void>& /*done*/) {
    return true;
}
template <typename T>
bool append_value(sd_bus_message* reply, const Answer<T>& given) {
    return wire::Type<T>::append(reply, *given);
}

template <typename T>
void answer(sd_bus_message* call, const Answer<T>& given) {
    if (!given) {
        refuse(call, given.error());
        return;
    }
    bus::Message reply;
    if (bus::take(reply, [&](sd_bus_message** raw) { return sd_bus_message_new_method_return(call, raw); }) >= 0 &&
        append_value(reply.get(), given)) {
        sd_bus_send(nullptr, reply.get(), nullptr);
    } else {
        refuse(call, {ServiceError::Kind::Failed, "the answer cannot be sent"});
    }
}

// All arguments, or the refusal of the first wrong one.
template <typename... A>
Answer<std::tuple<A...>> together(std::tuple<Answer<A>...>&& read) {
    const ServiceError* wrong = nullptr;
    std::apply([&](const auto&... one) { ((wrong = wrong == nullptr && !one ? &one.error() : wrong), ...); }, read);
    if (wrong != nullptr) {
        return tl::unexpected<ServiceError>(*wrong);
    }
    return std::apply([](auto&&... one) { return std::tuple<A...>(*std::move(one)...); }, std::move(read));
}

// Reads all arguments. `names`: each ends with \0.
template <typename... A>
Answer<std::tuple<A...>> read_arguments(sd_bus_message* message, const char* names) {
    [[maybe_unused]] const auto next = [&]<typename T>(std::type_identity<T>) {
        const std::string_view name = names;
        names += name.size() + 1;
        return argument<T>(message, name);
    };
    return together<A...>(std::tuple<Answer<A>...>{next(std::type_identity<A>())...});  // braces: in order
}

// Calls handler(call, arguments...). The handler returns an Answer, or takes a function as its last argument and calls
// it later with the Answer.
template <auto handler, auto permission, typename R, typename... A>
void serve(const Call& call, const Method<R, A...>& method) {
    auto arguments = read_arguments<A...>(call.message.get(), method.names);
    if (!arguments) {
        refuse(call.message.get(), arguments.error());
        return;
    }
    const char* const action =
        std::apply([&](const A&... argument) { return permission(call, argument...); }, *arguments);
    const auto kept = std::make_shared<std::tuple<A...>>(*std::move(arguments));
    with_permission(call, action, [call, kept] {
        std::apply(
            [&](const A&... argument) {
                if constexpr (requires {
                                  { handler(call, argument...) } -> std::same_as<Answer<R>>;
                              }) {
                    answer<R>(call.message.get(), handler(call, argument...));
                } else {
                    handler(call, argument...,
                            [message = call.message](const Answer<R>& given) { answer<R>(message.get(), given); });
                }
            },
            *kept);
    });
}

template <const auto& method, auto handler, auto permission>
int on_call(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    auto& object = *static_cast<DaemonObject*>(data);
    const Caller* const caller = object.caller(message);
    if (caller == nullptr) {  // the caller has left, or the bus does not know its user or process
        refuse(message, {ServiceError::Kind::AccessDenied, "the bus does not say who you are"});
    } else {
        serve<handler, permission>(Call{object, *caller, {sd_bus_message_ref(message), &sd_bus_message_unref}}, method);
    }
    return 1;
}

template <typename... T>
std::string signature_of() {
    if constexpr ((std::is_void_v<T> || ...)) {
        return {};
    } else {
        return (std::string() + ... + wire::Type<T>::signature());
    }
}

// The method's entry in the table of the interface.
template <const auto& method, auto handler, auto permission>
sd_bus_vtable method_entry() {
    static const auto signatures = []<typename R, typename... A>(const Method<R, A...>&) {
        return std::pair(signature_of<A...>(), signature_of<R>());
    }(method);
    return SD_BUS_METHOD_WITH_NAMES(method.name, signatures.first.c_str(), method.names, signatures.second.c_str(), ,
                                    (on_call<method, handler, permission>), SD_BUS_VTABLE_UNPRIVILEGED);
}

// The entries of all methods. docs/dbus.md describes each method and the permission that it needs.
[[nodiscard]] std::vector<sd_bus_vtable> method_entries();

}  // namespace happe
