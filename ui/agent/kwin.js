// SPDX-License-Identifier: GPL-2.0-or-later
// What KWin runs for happe-indicator: it tells which window is active. Plasma 5 and 6 have different names for it.
function tell(window) {
    callDBus("org.happe.Focus1", "/org/happe/Focus1", "org.happe.Focus1", "Focus",
             String(window ? window.pid : 0), String(window ? window.resourceClass : ""));
}
const activated = workspace.windowActivated || workspace.clientActivated;
activated.connect(tell);
tell(workspace.activeWindow || workspace.activeClient);
