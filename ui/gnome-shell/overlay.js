// Shows happe-indicator's picture above all windows (docs/indicator.md). Pointer and keyboard pass through it.

const OVERLAY_PATH = '/org/happe/Overlay1';
const OVERLAY = `<node><interface name="org.happe.Overlay1">
    <method name="GetScale"><arg type="s" name="screen" direction="in"/><arg type="d" direction="out"/></method>
    <method name="Show">
        <arg type="s" name="corner" direction="in"/><arg type="s" name="screen" direction="in"/>
        <arg type="u" name="width" direction="in"/><arg type="u" name="height" direction="in"/>
        <arg type="ay" name="pixels" direction="in"/><arg type="s" name="words" direction="in"/>
    </method>
    <method name="Hide"/>
    <signal name="ScaleChanged"><arg type="d" name="scale"/></signal>
</interface></node>`;
const MARGIN = 16;
const BYTES = 4; // of a pixel: premultiplied blue, green, red, alpha

// A full-screen game may bypass the shell's composition, and then hides the overlay.
function compose(always) {
    const verb = always ? 'disable' : 'enable';
    if (global.compositor?.disable_unredirect)
        global.compositor[`${verb}_unredirect`]();
    else
        Meta[`${verb}_unredirect_for_display`](global.display);
}

class Overlay {
    enable() {
        this._corner = 'bottom-left';
        this._screen = '';
        this._actor = new St.Widget({visible: false, reactive: false, accessible_role: Atk.Role.LABEL});
        Main.uiGroup.add_child(this._actor);
        const place = () => this._place();
        this._monitors = Main.layoutManager.connect('monitors-changed', place);
        this._moved = global.display.connect('notify::focus-window', place);
        this._entered = global.display.connect('window-entered-monitor', place);
        this._object = Gio.DBusExportedObject.wrapJSObject(OVERLAY, this);
        this._object.export(Gio.DBus.session, OVERLAY_PATH);
    }

    disable() {
        this._object.unexport();
        Main.layoutManager.disconnect(this._monitors);
        global.display.disconnect(this._moved);
        global.display.disconnect(this._entered);
        this.Hide();
        this._actor.destroy();
    }

    GetScale(screen) {
        return global.display.get_monitor_scale(this._monitor(screen));
    }

    ShowAsync([corner, screen, width, height, pixels, words], invocation) {
        if (width === 0 || height === 0 || pixels.length !== width * height * BYTES) {
            invocation.return_dbus_error('org.freedesktop.DBus.Error.InvalidArgs',
                'pixels: width times height times 4 bytes are wanted');
            return;
        }
        this._corner = corner;
        this._screen = screen;
        this._paint(width, height, pixels);
        this._actor.accessible_name = words;
        if (!this._actor.visible)
            compose(true);
        this._actor.show();
        this._place();
        this._follow(invocation.get_sender());
        invocation.return_value(null);
    }

    Hide() {
        this._follow(null);
        if (this._actor.visible)
            compose(false);
        this._actor.hide();
    }

    // The picture vanishes with the program that sent it.
    _follow(sender) {
        if (this._sender === sender)
            return;
        if (this._watch)
            Gio.bus_unwatch_name(this._watch);
        this._sender = sender;
        this._watch = sender && Gio.bus_watch_name(Gio.BusType.SESSION, sender, Gio.BusNameWatcherFlags.NONE,
            null, () => this.Hide());
    }

    _paint(width, height, pixels) {
        this._size = [width, height];
        const content = St.ImageContent.new_with_preferred_size(width, height);
        const picture = [new GLib.Bytes(pixels), Cogl.PixelFormat.BGRA_8888_PRE, width, height, width * BYTES];
        // Newer versions want Cogl's context too.
        if (content.set_bytes.length > picture.length)
            picture.unshift(global.stage.context.get_backend().get_cogl_context());
        content.set_bytes(...picture);
        this._actor.content = content;
    }

    // The monitor of this name; otherwise that of the focused window.
    _monitor(screen) {
        const manager = global.backend.get_monitor_manager?.() ?? Meta.MonitorManager.get();
        const named = screen ? manager.get_monitor_for_connector(screen) : -1;
        const index = named >= 0 ? named : global.display.focus_window?.get_monitor() ?? -1;
        return index >= 0 ? index : Main.layoutManager.primaryIndex;
    }

    _place() {
        const index = this._monitor(this._screen);
        const monitor = Main.layoutManager.monitors[index];
        if (!this._actor.visible || !monitor)
            return;
        // The stage's units are pixels. With fractional scaling they are 1/96 inch, and the stage's factor is 1.
        const scale = global.display.get_monitor_scale(index);
        const unit = St.ThemeContext.get_for_stage(global.stage).scale_factor;
        const [width, height] = this._size.map(pixels => pixels * unit / scale);
        const left = this._corner.endsWith('left') ? MARGIN * unit : monitor.width - MARGIN * unit - width;
        const top = this._corner.startsWith('top') ? MARGIN * unit : monitor.height - MARGIN * unit - height;
        this._actor.set_size(width, height);
        this._actor.set_position(monitor.x + Math.round(left), monitor.y + Math.round(top));
        if (this._scale !== scale) {
            this._scale = scale;
            this._object.emit_signal('ScaleChanged', new GLib.Variant('(d)', [scale]));
        }
    }
}

