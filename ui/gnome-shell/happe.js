// The extension. CMakeLists.txt appends this and the parts to the form that the version of GNOME Shell wants.

class Happe {
    constructor(folder) {
        this._parts = [new FrontWindow(), new Overlay(), new QuickSetting(folder)];
    }

    enable() {
        this._parts.forEach(part => part.enable());
    }

    disable() {
        this._parts.forEach(part => part.disable());
    }
}

