import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import type { Language } from "../../src/greenhouse/labels.js";
import type { DeviceDocument } from "../../src/homeassistant/documents.js";
import { bridgeDiscoveryTopic, discoveryTopic } from "../../src/homeassistant/announced.js";
import { controllers } from "./controllers.js";
import { settings } from "./fixtures.js";
import { announcementFaults } from "./announcement-faults.js";

// After a wanted change: UPDATE_GOLDEN=1 npx vitest run test/homeassistant/golden.test.ts, then read the difference.
// A changed unique_id, default_entity_id or component key orphans entities in every home.
function golden(name: string, document: DeviceDocument): void {
  const file = new URL(`./golden/${name}.json`, import.meta.url);
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (process.env["UPDATE_GOLDEN"] !== undefined) {
    mkdirSync(new URL("./golden/", import.meta.url), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text).toBe(readFileSync(file, "utf8"));
}

describe.each<Language>(["en", "zh"])("announcements in %s", (language) => {
  const chosen = settings({ language, supportUrl: "https://example.com/greenhouse2mqtt" });

  test.each(Object.entries(controllers))("a device of type %s is announced as recorded", (type, controller) =>
    golden(`${type}.${language}`, controllerDocument(controller, chosen)),
  );

  test("the bridge is announced as recorded", () => golden(`bridge.${language}`, bridgeDocument(chosen)));

  test("Home Assistant accepts every announcement of the account", () => {
    const messages = new Map([
      [bridgeDiscoveryTopic("homeassistant", chosen.clientId), JSON.stringify(bridgeDocument(chosen))],
      ...Object.values(controllers).map(
        (one) =>
          [
            discoveryTopic("homeassistant", one.info.code),
            JSON.stringify(controllerDocument(one, chosen)),
          ] as const,
      ),
    ]);
    expect(announcementFaults(messages)).toEqual([]);
  });
});
