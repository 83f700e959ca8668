import { expect, it } from "vitest";
import { checkTexts } from "../../src/page/codes.js";
import { brokerChecks } from "../../src/setup/doctor/broker-checks.js";
import { clockCheck, networkChecks } from "../../src/setup/doctor/network-checks.js";
import { dataChecks, platformChecks, pushChecks } from "../../src/setup/doctor/platform-checks.js";
import { shapeChecks } from "../../src/setup/doctor/shape-checks.js";
import { zoneCheck } from "../../src/setup/doctor/zone-check.js";

it("each check of doctor has a title on the page, and none stands there that is no check", () => {
  const checks = [
    ...[...networkChecks("business"), ...networkChecks("realtime"), ...platformChecks, clockCheck],
    ...[...shapeChecks, zoneCheck, ...pushChecks, ...brokerChecks, ...dataChecks],
  ];
  const titled = Object.keys(checkTexts);
  const titles = checks.map(({ id }) => [id, id.split(".")[0] ?? ""].find((key) => titled.includes(key)));
  expect(checks.filter((_, at) => titles[at] === undefined)).toEqual([]);
  expect(titled.filter((key) => !titles.includes(key))).toEqual([]);
});
