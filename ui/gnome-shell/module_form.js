// SPDX-License-Identifier: GPL-2.0-or-later
// For GNOME Shell 45 and newer.

import Atk from 'gi://Atk';
import Clutter from 'gi://Clutter';
import Cogl from 'gi://Cogl';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Meta from 'gi://Meta';
import Shell from 'gi://Shell';
import St from 'gi://St';
import * as Main from 'resource:///org/gnome/shell/ui/main.js';
import * as QuickSettings from 'resource:///org/gnome/shell/ui/quickSettings.js';
import {Extension} from 'resource:///org/gnome/shell/extensions/extension.js';

export default class HappeExtension extends Extension {
    constructor(metadata) {
        super(metadata);
        this._happe = new Happe();
    }

    enable() {
        this._happe.enable();
    }

    disable() {
        this._happe.disable();
    }
}

