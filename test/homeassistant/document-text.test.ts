import { expect, test } from "vitest";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import { fittingDocument, maxDocumentBytes } from "../../src/homeassistant/documents.js";
import { actuator, controller, reading, settings } from "./fixtures.js";
import { faultsOf } from "./announcement-faults.js";

const withSensors = (count: number) =>
  controllerDocument(
    controller({
      actuators: [actuator({ id: "roof", kind: "skylight" })],
      sensors: Array.from({ length: count }, (_, at) => reading(`温度${at}`, `t${at}`, "temperature", "°C")),
    }),
    settings(),
  );

test("100 sensors fit into one message", () => expect(fittingDocument(withSensors(100)).leftOut).toBe(0));

test("what does not fit is left out from the end and counted, and actuators stay", () => {
  const whole = withSensors(600);
  const { document, leftOut } = fittingDocument(whole);
  const text = JSON.stringify(document);
  expect(leftOut).toBeGreaterThan(0);
  expect(Object.keys(document.components)).toHaveLength(Object.keys(whole.components).length - leftOut);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxDocumentBytes);
  expect(Buffer.byteLength(text)).toBeGreaterThan(maxDocumentBytes - 2_000);
  expect(document.components).toHaveProperty("cover_101");
  expect(faultsOf("homeassistant/device/x/config", text)).toEqual([]);
});
