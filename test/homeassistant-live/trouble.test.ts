import { expect, it } from "vitest";
import { troubleIn } from "./support/trouble.js";

const unretrieved = (file: string) =>
  `2026-11-26 14:57:32.310+00:00 ERROR (MainThread) [homeassistant] Error doing job: Task exception was never retrieved (task: None)
Traceback (most recent call last):
  File "/venv/lib/python3.14/site-packages/${file}", line 19, in <module>
ModuleNotFoundError: No module named 'metno'`;
const ofMqtt = (level: string, text = "Invalid value") =>
  `2026-11-26 14:57:33.000+00:00 ${level} (MainThread) [homeassistant.components.mqtt.entity] ${text}`;

it.each<[string, string, number]>([
  ["a task of onboarding without its package", unretrieved("homeassistant/components/met/__init__.py"), 0],
  ["a task that passed through its part for MQTT", unretrieved("homeassistant/components/mqtt/client.py"), 1],
  ["a task of the MQTT library", unretrieved("paho/mqtt/client.py"), 1],
  ["a warning of its part for MQTT", ofMqtt("WARNING"), 1],
  ["what its part for MQTT says at info", ofMqtt("INFO"), 0],
  ["a device withdrawn once more", ofMqtt("WARNING", "No device components to cleanup for x"), 0],
])("%s", (_, record, count) => {
  const others = "2026-11-26 14:57:30.000+00:00 WARNING (MainThread) [haffmpeg.tools] Error starting FFmpeg.";
  expect(troubleIn([others, record, others].join("\n"))).toHaveLength(count);
});
