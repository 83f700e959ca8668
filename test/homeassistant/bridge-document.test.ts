import { expect, test } from "vitest";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import { bridgeDiscoveryTopic } from "../../src/homeassistant/announced.js";
import { controller, settings } from "./fixtures.js";
import { announcementFaults } from "./announcement-faults.js";

const document = bridgeDocument(settings());

test("each device leads to the bridge's page where others reach it, and nowhere else", () => {
  const pageUrl = "http://192.168.1.5:8099/";
  for (const make of [
    bridgeDocument,
    (given: Parameters<typeof bridgeDocument>[0]) => controllerDocument(controller(), given),
  ]) {
    expect(make(settings({ pageUrl })).device["configuration_url"]).toBe(pageUrl);
    expect(make(settings()).device["configuration_url"]).toBeUndefined();
  }
});

test("what changes with every poll is off at first, and requests left are there only with a budget", () => {
  for (const key of ["sensor_last-contact-business", "sensor_last-contact-realtime", "sensor_oldest-reading"])
    expect(document.components[key]).toMatchObject({ enabled_by_default: false });
  expect(document.components).toHaveProperty("sensor_requests-left");
  expect(bridgeDocument(settings({ hasBudget: false })).components).not.toHaveProperty(
    "sensor_requests-left",
  );
});

test("two bridges on one broker, told apart by their client ids, do not touch each other", () => {
  const messages = ["greenhouse2mqtt", "other", "an other", "an/other"].map(
    (clientId) =>
      [
        bridgeDiscoveryTopic("homeassistant", clientId),
        JSON.stringify(bridgeDocument(settings({ clientId }))),
      ] as const,
  );
  expect(new Map(messages).size).toBe(4);
  expect(announcementFaults(new Map(messages))).toEqual([]);
});

test("the platform's state has no list of options, which a change of language would contradict", () => {
  for (const language of ["en", "zh"] as const) {
    const component = bridgeDocument(settings({ language })).components["sensor_platform"];
    expect(component).not.toHaveProperty("options");
    expect(component).not.toHaveProperty("device_class");
  }
});
