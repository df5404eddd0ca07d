// SPDX-License-Identifier: GPL-2.0-or-later
// For GNOME Shell 45 and newer.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import {Extension} from 'resource:///org/gnome/shell/extensions/extension.js';

export default class HappeExtension extends Extension {
    enable() {
        this._front = new FrontWindow();
        this._front.enable();
    }

    disable() {
        this._front.disable();
        this._front = null;
    }
}

