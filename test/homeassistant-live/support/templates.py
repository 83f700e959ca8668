"""Renders templates as Home Assistant's part for MQTT does: reads `[template, payload]`, one JSON list a line, prints each
result as JSON, `null` where there was an error or something undefined."""

import asyncio
import json
import logging
import sys

from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template


class Complaints(logging.Handler):
    seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.seen += 1


def rendered(template: str, payload: str, hass: HomeAssistant, complaints: Complaints) -> str | None:
    before = complaints.seen
    try:
        text = Template(template, hass).async_render_with_possible_json_value(payload)
    except Exception:  # whatever a release raises
        return None
    return text if complaints.seen == before else None


async def main() -> None:
    hass = HomeAssistant(sys.argv[1])
    complaints = Complaints(logging.WARNING)
    logging.getLogger().addHandler(complaints)
    for line in sys.stdin:
        print(json.dumps(rendered(*json.loads(line), hass, complaints)))


asyncio.run(main())
