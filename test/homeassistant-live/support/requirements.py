"""Prints what the parts of Home Assistant that the tests use need from PyPI, as their manifests say."""

import json
import pathlib

import homeassistant
from homeassistant import bootstrap

NAMES = ("CORE_INTEGRATIONS", "LOGGING_AND_HTTP_DEPS_INTEGRATIONS", "FRONTEND_INTEGRATIONS", "DEFAULT_INTEGRATIONS")
PLATFORMS = "binary_sensor button cover event light number select sensor switch valve"
USED = "mqtt onboarding config api websocket_api recorder history logbook automation script template lovelace"
# Nobody speaks here, and they have no wheel for every machine.
WITHOUT = ("pymicro-vad", "pyspeex-noise")

components = pathlib.Path(homeassistant.__file__).parent / "components"
wanted = set(PLATFORMS.split()) | set(USED.split())
for name in NAMES:
    wanted |= set(getattr(bootstrap, name, ()))
seen: set[str] = set()
requirements = {"aiohasupervisor", "isal"}
while wanted:
    domain = wanted.pop()
    manifest = components / domain / "manifest.json"
    if domain in seen or not manifest.exists():
        continue
    seen.add(domain)
    about = json.loads(manifest.read_text())
    requirements |= set(about.get("requirements", ()))
    wanted |= set(about.get("dependencies", ()))
    if domain == "mqtt":
        wanted |= set(about.get("after_dependencies", ()))
print("\n".join(sorted(one for one in requirements if not one.startswith(WITHOUT))))
