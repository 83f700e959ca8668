"""Reads discovery messages, one JSON object a line, and prints what Home Assistant's own schemas and units say against them.

What else the set-up of an entity refuses shows in its log; this needs no running instance.
"""

import asyncio
import importlib
import json
import sys

from homeassistant.components.mqtt import schemas
from homeassistant.components.sensor import const
from homeassistant.core import HomeAssistant

SHARED = ("availability", "availability_mode")


def unfit(component: dict) -> list[str]:
    """A unit or state class that its class does not have; releases differ in whether the schema says so."""
    name = component.get("device_class")
    if component["platform"] != "sensor" or name is None:
        return []
    units = const.DEVICE_CLASS_UNITS.get(name, {component.get("unit_of_measurement")})
    classes = const.DEVICE_CLASS_STATE_CLASSES.get(name, set())
    return [
        f"{key} {component.get(key)} of a {name}"
        for key, allowed in (("unit_of_measurement", units), ("state_class", {None, *classes}))
        if component.get(key) not in allowed
    ]


def faults(message: dict) -> list[str]:
    try:
        schemas.MQTT_ORIGIN_INFO_SCHEMA(message["origin"])
        checked = schemas.DEVICE_DISCOVERY_SCHEMA(json.loads(json.dumps(message)))
    except Exception as error:  # whatever a release raises
        return [f"the whole device: {error}"]
    shared = {key: message[key] for key in SHARED if key in message}
    found = []
    for key, component in message["components"].items():
        if len(component) == 1:
            continue
        platform = importlib.import_module(f"homeassistant.components.mqtt.{component['platform']}")
        try:
            platform.DISCOVERY_SCHEMA({**shared, **component, "device": checked["device"], "origin": checked["origin"]})
        except Exception as error:
            found.append(f"{key}: {error}")
        found += [f"{key}: {fault}" for fault in unfit(component)]
    return found


async def main() -> None:
    HomeAssistant(sys.argv[1])
    components = 0
    for line in sys.stdin:
        message = json.loads(line)
        components += len(message["components"])
        for fault in faults(message):
            print(f"{message['device']['identifiers'][0]} {fault}")
    print(f"checked {components}")


asyncio.run(main())
