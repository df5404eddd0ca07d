#!/bin/sh
# Renews the pictures in docs/img: figures of the simulation, and the tests' pictures of pages and windows.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/pictures
tools/simulation.sh build/pictures >/dev/null
mkdir -p docs/img
build/venv/bin/python - build/pictures/paper/report/report.html <<'END'
import base64
import re
import sys
from pathlib import Path

page = Path(sys.argv[1]).read_text(encoding="utf-8")
found = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)".*?(Figure A\.\d)', page, re.S)
drawn = {name: " ".join(base64.b64decode(svg).decode().split()) for svg, name in found}
for name, file in (("Figure A.4", "power-by-participant"), ("Figure A.5", "frequency-over-time")):
    Path(f"docs/img/{file}.svg").write_text(drawn[name] + "\n", encoding="utf-8")
END

picture() { # SOURCE NAME [HEIGHT]: keeps 256 colours, also rare ones, and cuts a long page off at this height
    build/venv/bin/python - "build/pictures/$1.png" "docs/img/$2.png" "${3:-}" <<'END'
import sys

from PIL import Image

source, target, height = sys.argv[1:]
image = Image.open(source)
image = image.crop((0, 0, image.width, int(height or image.height))).convert("RGB")
image.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
END
}

HAPPE_PICTURES=1 build/venv/bin/python -m pytest -q -p no:cacheprovider study-server/tests/browser
picture study-server/study-locked-1280-light study-locked-1280-light
picture study-server/run-whole-1280-light run-view 1180
picture study-server/profiles-1280-light profile-map
picture study-server/profile-1280-light profile-lessons 2200

# The overlay above a full-screen window, the owner's window, and its dialog of the keys.
HAPPE_PICTURES=1 build/venv/bin/python -m pytest -q -p no:cacheprovider ui/tests/test_overlay_x11.py ui/tests/test_owner_window.py ui/tests/test_owner_keys.py -k "a_key_changes or details_show or shows_the_battery or pressed_and_set"
picture ui/overlay overlay
picture ui/overlay-details overlay-details # after some minutes of power
cp build/pictures/ui/owner-window.png docs/img/owner-window.png # unchanged: 256 colours would lack the colours of the presses
picture ui/owner-keys owner-keys
HAPPE_PICTURES=1 build/venv/bin/python -m pytest -q -p no:cacheprovider ui/tests/test_overlay_gnome.py
picture ui/quick-settings-gnome quick-settings-gnome

# Overlay and owner's window in the desktops of Debian 13. Needs root.
HAPPE_PICTURES=1 tools/desktops.sh trixie -k overlay
for name in desktop-gnome desktop-kde; do
    cp "build/desktops/trixie/srv/happe/build/pictures/ui/$name.png" build/pictures/ui
    picture "ui/$name" "$name"
done

# The wizard: a rating, and the experimenter's page above a game.
HAPPE_PICTURES=1 build/venv/bin/python -m pytest -q -p no:cacheprovider tests/system/test_study_wizard.py -k link_to_the_goodbye
for page in ready rating experimenter; do
    picture "ui/study-$page" "study-$page"
done
ls docs/img
