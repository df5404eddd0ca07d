// Reports to happe-indicator which window is in front (docs/session-agent.md).

const FOCUS = 'org.happe.Focus1';

class FrontWindow {
    enable() {
        const tell = () => this._tell(global.display.focus_window);
        this._moved = global.display.connect('notify::focus-window', tell);
        // Calls at once if happe-indicator is on the bus, and whenever it appears.
        this._comes = Gio.bus_watch_name(Gio.BusType.SESSION, FOCUS, Gio.BusNameWatcherFlags.NONE, tell, null);
    }

    disable() {
        global.display.disconnect(this._moved);
        Gio.bus_unwatch_name(this._comes);
        this._tell(null);
    }

    // The pid of an X11 client is the one that the X server knows (XRes); pid 0: no window is in front.
    _tell(window) {
        const front = [`${Math.max(window?.get_pid() ?? 0, 0)}`, window?.get_wm_class() ?? ''];
        Gio.DBus.session.call(FOCUS, '/org/happe/Focus1', FOCUS, 'Focus', new GLib.Variant('(ss)', front),
            null, Gio.DBusCallFlags.NO_AUTO_START, -1, null, null);
    }
}

