// The extension. CMakeLists.txt appends this and the parts to the form for each version of GNOME Shell.

class Happe {
    constructor() {
        this._parts = [new FrontWindow(), new Overlay(), new QuickSetting()];
    }

    enable() {
        this._parts.forEach(part => part.enable());
    }

    disable() {
        this._parts.forEach(part => part.disable());
    }
}

