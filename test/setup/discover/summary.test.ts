import { expect, it } from "vitest";
import { counted } from "../../../src/setup/discover/discover.js";

it.each([
  [0, "station", undefined, "0 stations"],
  [1, "station", undefined, "1 station"],
  [2, "station", undefined, "2 stations"],
  [1, "address", "addresses", "1 address"],
  [3, "address", "addresses", "3 addresses"],
] as const)("%d %s (%s) is counted as %s", (count, one, many, text) =>
  expect(counted(count, one, many)).toBe(text),
);
