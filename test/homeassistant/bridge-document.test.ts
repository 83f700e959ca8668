import { expect, test } from "vitest";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import { bridgeDiscoveryTopic } from "../../src/homeassistant/announced.js";
import { controller, settings } from "./fixtures.js";
import { announcementFaults } from "./announcement-faults.js";

const document = bridgeDocument(settings());

test("a dead bridge shows as disconnected: its connectivity has no availability, everything else has the bridge's", () => {
  for (const [key, component] of Object.entries(document.components)) {
    if (key === "binary_sensor_connectivity") expect(component).not.toHaveProperty("availability");
    else expect(component["availability"]).toEqual([{ topic: "greenhouse/bridge/state" }]);
  }
  expect(document).not.toHaveProperty("availability");
});

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

test("the refresh button asks the bridge and is forgotten if nobody listens", () =>
  expect(document.components["button_refresh"]).toMatchObject({
    command_topic: "greenhouse/bridge/request/refresh",
    payload_press: "{}",
    retain: false,
    qos: 1,
    message_expiry_interval: 30,
  }));

test("what is wrong anywhere is one problem with its remedy, and one button says that somebody has seen it", () => {
  expect(document.components["binary_sensor_alarm"]).toMatchObject({
    ...{ state_topic: "greenhouse/bridge/alarms", json_attributes_topic: "greenhouse/bridge/alarms" },
    device_class: "problem",
  });
  expect(document.components["button_acknowledge-alarms"]).toMatchObject({
    command_topic: "greenhouse/bridge/request/acknowledge",
    payload_press: JSON.stringify({ alarm: "all", by: "home-assistant" }),
  });
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
