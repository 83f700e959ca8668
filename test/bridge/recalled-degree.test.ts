import { expect, it } from "vitest";
import { actuatorDocument } from "../../src/greenhouse/documents.js";
import { groupState } from "../../src/greenhouse/groups.js";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import { noneOn, overviewRow } from "../../src/http/views.js";
import { deviceMetrics } from "../../src/sparkplug/metrics.js";
import { settings as announcing } from "../homeassistant/fixtures.js";
import { actuator, clientStatus, controller, controllerSettings } from "../support/builders.js";
import { after, registersRead, start } from "../support/folding.js";

/*
 * With `position_reads: mode` the degree that is shown is the one confirmed last and no read shows it: it is uncertain wherever
 * somebody may look.
 */

const roof = actuator({ positionReads: "mode" });
const asConfirmed = after(
  controller(controllerSettings({ actuators: [roof] })),
  start,
  { type: "platform", reachable: true },
  { type: "connection", status: clientStatus("online") },
  registersRead({ "101": "10100" }),
  { type: "posted", target: "actuator", id: "roof", at: 1, between: { until: "101" } },
  registersRead({ "101": "10100" }, { startedAt: 2 }),
  { type: "steps_ended", target: "actuator", id: "roof", degree: 40 },
);
const shown = asConfirmed.actuators.get("roof");

it("as JSON, in a group and on the overview", () => {
  if (shown === undefined) throw new Error("it is there");
  expect(actuatorDocument(shown)).toMatchObject({ state: "position", position: 40, quality: "uncertain" });
  expect(groupState([shown])).toMatchObject({ quality: "uncertain" });
  const row = overviewRow(asConfirmed, null, noneOn, []);
  expect(row.actuators).toEqual({ vents: { uncertain: 1 } });
});

it("at a Sparkplug host, with the code 500", () => {
  const metrics = deviceMetrics({ controller: asConfirmed, results: new Map(), alarms: [] });
  for (const name of ["state", "position", "value"])
    expect(metrics.find((one) => one.name === `actuator/roof/${name}`)).toMatchObject({ quality: 500 });
});

it("in Home Assistant, by a sensor beside the cover, and only where no degree is read", () => {
  const sensors = (of: typeof asConfirmed) =>
    Object.values(controllerDocument(of, announcing()).components)
      .filter(
        (one) =>
          one["platform"] === "sensor" && one["state_topic"] === "greenhouse/gh-0001/actuator/roof/json",
      )
      .map((one) => one["value_template"]);
  expect(sensors(asConfirmed)).toEqual([expect.stringContaining("value_json.quality")]);
  const plain = controllerSettings({ actuators: [actuator()] });
  expect(sensors(after(controller(plain), start))).toEqual([]);
});
