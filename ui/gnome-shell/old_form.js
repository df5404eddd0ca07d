// SPDX-License-Identifier: GPL-2.0-or-later
// For GNOME Shell 43 and 44.

const {Atk, Clutter, Cogl, Gio, GLib, Meta, Shell, St} = imports.gi;
const Main = imports.ui.main;
const QuickSettings = imports.ui.quickSettings;

function init() {
    return new Happe();
}

