"""Reads discovery messages, one JSON object a line, and prints what Home Assistant's own schemas say against them.

What only the set-up of an entity refuses (a unit against its class) shows in its log; this needs no running instance.
"""

import asyncio
import importlib
import json
import sys

from homeassistant.components.mqtt import schemas
from homeassistant.core import HomeAssistant

SHARED = ("availability", "availability_mode")


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
