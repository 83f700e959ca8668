import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Language } from "../../src/greenhouse/labels.js";
import { bridgeDiscoveryTopic, discoveryTopic } from "../../src/homeassistant/announced.js";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import { type DeviceDocument, fittingDocument, maxDocumentBytes } from "../../src/homeassistant/documents.js";
import { announcementFaults, faultsOf } from "./announcement-faults.js";
import { controllers } from "./controllers.js";
import { actuator, controller, reading, settings } from "./fixtures.js";

// After a wanted change: UPDATE_GOLDEN=1 npx vitest run test/homeassistant/golden.test.ts, then read the difference.
// A changed unique_id, default_entity_id or component key orphans entities in every home.
function golden(name: string, document: DeviceDocument): void {
  const file = new URL(`./golden/${name}.json`, import.meta.url);
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (process.env["UPDATE_GOLDEN"] !== undefined) writeFileSync(file, text);
  expect(text).toBe(readFileSync(file, "utf8"));
}

describe.each<Language>(["en", "zh"])("announcements in %s", (language) => {
  const chosen = settings({ language, supportUrl: "https://example.com/greenhouse2mqtt" });
  const bridge = bridgeDocument(chosen);

  test.each(Object.entries(controllers))("a device of type %s is announced as recorded", (type, one) =>
    golden(`${type}.${language}`, controllerDocument(one, chosen)),
  );

  test("the bridge is announced as recorded", () => golden(`bridge.${language}`, bridge));

  test("Home Assistant accepts every announcement of the account", () => {
    const messages = Object.values(controllers).map(
      (one) =>
        [
          discoveryTopic("homeassistant", one.info.code),
          JSON.stringify(controllerDocument(one, chosen)),
        ] as const,
    );
    const topic = bridgeDiscoveryTopic("homeassistant", chosen.clientId);
    expect(announcementFaults(new Map([[topic, JSON.stringify(bridge)], ...messages]))).toEqual([]);
  });

  test("the platform's state has no list of options, which a change of language would contradict", () => {
    expect(bridge.components["sensor_platform"]).not.toHaveProperty("options");
    expect(bridge.components["sensor_platform"]).not.toHaveProperty("device_class");
  });
});

test("each device leads to the bridge's page where others reach it, and nowhere else", () => {
  for (const pageUrl of ["http://192.168.1.5:8099/", undefined])
    for (const { device } of [
      bridgeDocument(settings({ pageUrl })),
      controllerDocument(controller(), settings({ pageUrl })),
    ])
      expect(device["configuration_url"]).toBe(pageUrl);
});

test("what changes with every poll is off at first, and requests left are there only with a budget", () => {
  const { components } = bridgeDocument(settings());
  for (const key of ["sensor_last-contact-business", "sensor_last-contact-realtime", "sensor_oldest-reading"])
    expect(components[key]).toMatchObject({ enabled_by_default: false });
  expect(components).toHaveProperty("sensor_requests-left");
  expect(bridgeDocument(settings({ hasBudget: false })).components).not.toHaveProperty(
    "sensor_requests-left",
  );
});

test("bridges on one broker, told apart by their client ids, do not touch each other", () => {
  const ids = ["greenhouse2mqtt", "other", "an other", "an/other"];
  const messages = new Map(
    ids.map((clientId) => [
      bridgeDiscoveryTopic("homeassistant", clientId),
      JSON.stringify(bridgeDocument(settings({ clientId }))),
    ]),
  );
  expect([messages.size, announcementFaults(messages)]).toEqual([4, []]);
});

test("what does not fit is left out from the end and counted, and actuators stay; 100 sensors fit", () => {
  const withSensors = (count: number) => {
    const names = Array.from({ length: count }, (_, at) => `温度${at}`);
    const sensors = names.map((name, at) => reading(name, `t${at}`, "temperature", "°C"));
    const actuators = [actuator({ id: "roof", kind: "skylight" })];
    return controllerDocument(controller({ actuators, sensors }), settings());
  };
  expect(fittingDocument(withSensors(100)).leftOut).toBe(0);
  const { document, leftOut } = fittingDocument(withSensors(600));
  const text = JSON.stringify(document);
  const all = Object.keys(withSensors(600).components).length;
  expect(leftOut).toBeGreaterThan(0);
  expect(Object.keys(document.components)).toHaveLength(all - leftOut);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxDocumentBytes);
  expect(Buffer.byteLength(text)).toBeGreaterThan(maxDocumentBytes - 2_000);
  expect(document.components).toHaveProperty("cover_101");
  expect(faultsOf("homeassistant/device/x/config", text)).toEqual([]);
});
