import { expect, it } from "vitest";
import { reachable } from "../../src/broker/settings.js";

it.each([
  ["127.0.0.1", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
  ["::1", "[::1]"],
  ["[::1]", "[::1]"],
  ["fd00::5", "[fd00::5]"],
  ["greenhouse.local", "greenhouse.local"],
])("a listener on %s is reached at %s", (host, name) => {
  expect(reachable(host)).toBe(name);
  expect(URL.canParse(`mqtt://${reachable(host)}:1883`)).toBe(true);
});
