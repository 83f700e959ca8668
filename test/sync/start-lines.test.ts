import { pino } from "pino";
import { expect, it } from "vitest";
import { logActuators, warnOfSensors } from "../../src/sync/mirror.js";
import { mayDo } from "../../src/config/live-settings.js";
import { configurationSchema } from "../../src/config/schema.js";
import { newController, reduce } from "../../src/greenhouse/reduce.js";
import {
  actuator,
  controller,
  controllerSettings,
  item,
  limits,
  sensorSettings,
} from "../support/builders.js";

const commands = (over: object) =>
  configurationSchema.parse({
    platform: { business_url: "http://127.0.0.1:1", realtime_url: "http://127.0.0.1:1", token: "none" },
    commands: over,
  }).commands;

it.each([
  [{}, "commands are taken and sent to the platform"],
  [{ dry_run: true }, "dry run: commands are checked, and nothing is sent"],
  [{ read_only: true, dry_run: true }, "read-only: every command is refused"],
])("the log says at the start what the bridge may do: %j", (over, line) =>
  expect(mayDo(commands(over))).toBe(line),
);

it.each([
  ["空气温渡", 'the platform shows no sensor "空气温渡", did you mean "空气温度"?'],
  ["t7", 'the platform shows no sensor "t7"; it shows 空气温度'],
])("a configured sensor whose `from` fits nothing is told, with what was meant: %s", (from, msg) => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(line) });
  const sensors = [sensorSettings({ id: "air", from }), sensorSettings({ id: "here", from: "空气温度" })];
  const read = { type: "sensors_read", items: [item()], receivedAt: 0, source: "poll" } as const;
  const found = reduce(controller(controllerSettings({ sensors })), read, {
    now: 0,
    freshness: limits,
    transliterate: (text) => text,
  });
  warnOfSensors(found, log);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ level: 40, sensor: "air", msg }]);
});

it("the log has a line at info for each actuator found", () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(line) });
  const settings = controllerSettings({
    actuators: [actuator(), actuator({ id: "fan", kind: "circulation_fan", address: "150", readOnly: true })],
  });
  logActuators(log, newController("GH-0001", "gh-0001", settings, true));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { controller: "gh-0001", actuator: "roof", kind: "skylight", msg: "actuator found: gh-0001/roof" },
    { actuator: "fan", msg: "actuator found, read-only: gh-0001/fan" },
  ]);
});
