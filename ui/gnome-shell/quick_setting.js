// HAPPE's quick setting: shows its state, pauses it, and opens the owner's window. It listens to happed only while the
// menu is open.

const GOVERNOR = 'org.happe.Governor1';
const GOVERNOR_PATH = '/org/happe/Governor1';
const PROPERTIES = 'org.freedesktop.DBus.Properties';
const HOLDER = 'GNOME Shell';
const ICON = 'power-profile-power-saver-symbolic';
const NOT_GOVERNING = {
    contested: 'Another program governs the CPU',
    failing: 'HAPPE cannot govern every CPU here',
};

class QuickSetting {
    constructor() {
        this._hold = null;
        this._asking = false; // true until happed has answered Hold or Release
    }

    enable() {
        const {menu} = Main.panel.statusArea.quickSettings;
        this._toggle = new QuickSettings.QuickMenuToggle({iconName: ICON});
        this._toggle['title' in this._toggle ? 'title' : 'label'] = 'HAPPE'; // 43 has no titles
        this._toggle.connect('clicked', () => this._pause(this._asking ? !this._wanted : this._hold === null));
        this._toggle.menu.setHeader(ICON, 'HAPPE');
        this._doing = this._toggle.menu.addAction('', () => {});
        this._doing.reactive = false;
        this._toggle.menu.addAction('Open HAPPE', () => this._open());
        menu.addItem(this._toggle, 1);
        this._opened = menu.connect('open-state-changed', (_menu, isOpen) => this._listen(isOpen));
        this._listen(menu.isOpen);
    }

    // A pause lasts while the screen is locked, when GNOME Shell switches extensions off.
    disable() {
        this._listen(false);
        Main.panel.statusArea.quickSettings.menu.disconnect(this._opened);
        this._toggle.destroy();
        this._toggle = null;
        if ((this._asking || this._hold !== null) && !Main.sessionMode.isLocked)
            this._pause(false);
    }

    _listen(wanted) {
        if (this._heard)
            Gio.DBus.system.signal_unsubscribe(this._heard);
        this._heard = wanted && Gio.DBus.system.signal_subscribe(GOVERNOR, PROPERTIES, 'PropertiesChanged',
            GOVERNOR_PATH, null, Gio.DBusSignalFlags.NONE, () => this._look());
        if (wanted)
            this._look();
    }

    // Calls `take` with happed's answer, or with the error.
    _ask(group, method, values, take) {
        Gio.DBus.system.call(GOVERNOR, GOVERNOR_PATH, group, method, values, null, Gio.DBusCallFlags.NO_AUTO_START, -1,
            null, (bus, result) => {
                try {
                    take(bus.call_finish(result).recursiveUnpack(), null);
                } catch (error) {
                    take([], error);
                }
            });
    }

    _look() {
        this._ask(PROPERTIES, 'GetAll', new GLib.Variant('(s)', [GOVERNOR]), ([governor]) => {
            const holds = governor?.Holds ?? [];
            if (!holds.some(([holder]) => holder === HOLDER))
                this._hold = null;
            if (this._toggle)
                this._show(governor);
        });
    }

    _show(governor) {
        const doing = this._wordsFor(governor);
        this._toggle.checked = Boolean(governor) && this._hold === null;
        this._doing.label.text = doing;
        if ('subtitle' in this._toggle)
            this._toggle.subtitle = doing;
    }

    // Shows nothing during a study's run.
    _wordsFor(governor) {
        if (!governor)
            return 'happed is not running';
        if (governor.State === 'run')
            return 'A study\'s run is in progress';
        if (this._hold !== null)
            return 'Paused';
        if (governor.State === 'held')
            return `Paused: ${governor.Holds.map(([holder]) => holder).join(', ')}`;
        if (governor.Targets.length === 0)
            return NOT_GOVERNING[governor.State] ?? 'HAPPE governs for nobody now';
        const khz = Math.max(...governor.Targets.map(([_policy, target]) => target));
        const one = {minimumFractionDigits: 1, maximumFractionDigits: 1};
        return `${(khz / 1e6).toLocaleString(undefined, one)} GHz · ${governor.Application}`;
    }

    // Sends one request at a time: if happed gave two holds, this class would know only the second, and end only that.
    _pause(wanted) {
        this._wanted = wanted;
        if (this._asking)
            return;
        this._asking = true;
        const [method, values] = wanted
            ? ['Hold', new GLib.Variant('(ss)', [HOLDER, 'paused in the quick settings'])]
            : ['Release', new GLib.Variant('(u)', [this._hold])];
        this._ask(GOVERNOR, method, values, ([hold], error) => {
            this._asking = false;
            this._hold = hold ?? null;
            if (error)
                Main.notifyError('HAPPE', error.message);
            else if (this._wanted !== (this._hold !== null))
                this._pause(this._wanted);
            this._look();
        });
    }

    _open() {
        Main.overview.hide();
        Main.panel.statusArea.quickSettings.menu.close();
        Shell.AppSystem.get_default().lookup_app('org.happe.Window.desktop')?.activate();
    }
}

