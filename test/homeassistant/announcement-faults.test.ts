import { expect, test } from "vitest";
import { announcementFaults } from "./announcement-faults.js";

const [topic, other] = ["homeassistant/device/x/config", "homeassistant/device/y/config"];
const component = { platform: "sensor", unique_id: "u", state_topic: "a/b" };
const message = (own: object = component, root: object = {}, key = "a") =>
  JSON.stringify({
    device: { identifiers: ["i"], name: "n" },
    origin: { name: "o" },
    components: { [key]: own },
    ...root,
  });
const device = (fields: object) => ({ device: { identifiers: ["i"], name: "n", ...fields } });

test("a plain message, a removal of one component and one of a device have no faults", () => {
  expect(announcementFaults(new Map([[topic, message()]]))).toEqual([]);
  expect(announcementFaults(new Map([[topic, message({ platform: "cover" })]]))).toEqual([]);
  expect(announcementFaults(new Map([[topic, ""]]))).toEqual([]);
});

test.each<[string, string]>([
  ["root: unknown key area", message(component, { area: "x" })],
  ["root: unknown key message_expiry_interval", message(component, { message_expiry_interval: 30 })],
  ["device: unknown key vendor", message(component, device({ vendor: "x" }))],
  ["origin: unknown key url", message(component, { origin: { name: "o", url: "x" } })],
  ["no device or origin", message(component, { origin: undefined })],
  ["sw_version is not a text", message(component, device({ sw_version: 3 }))],
  ["model is not a text", message(component, device({ model: "" }))],
  ["a: platform date", message({ ...component, platform: "date" })],
  ["a: no unique_id", message({ ...component, unique_id: undefined })],
  ['a: "a/#" is no topic', message({ ...component, state_topic: "a/#" })],
  ['a: "a/+" is no topic', message({ ...component, availability: [{ topic: "a/+" }] })],
  ["a: unit is null", message({ ...component, unit: null })],
  ["a b: key", message(component, {}, "a b")],
  ["too large", message({ ...component, name: "x".repeat(256 * 1024) })],
  ["a lone surrogate", message({ ...component, name: "\ud800" })],
  ["nobody announces device hub", message(component, device({ via_device: "hub" }))],
])("the fault «%s» is found", (fault, payload) =>
  expect(announcementFaults(new Map([[topic, payload]]))).toEqual([`${topic}: ${fault}`]),
);

test("an illegal topic, and what two messages share, are faults", () => {
  expect(announcementFaults(new Map([["homeassistant/device/a b/config", message()]]))).toHaveLength(1);
  const twice = new Map([topic, other].map((one) => [one, message()]));
  expect(announcementFaults(twice)).toEqual([
    `${other}: device i is already that of ${topic}`,
    `${other}: entity u is already that of ${topic}`,
  ]);
});
