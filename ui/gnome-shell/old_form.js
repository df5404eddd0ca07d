// SPDX-License-Identifier: GPL-2.0-or-later
// For GNOME Shell 43 and 44.

const {Gio, GLib} = imports.gi;

function init() {
    return new FrontWindow();
}

