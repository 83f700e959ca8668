import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { profileNames } from "../../src/simulator/dialects.js";
import { configuration, greenhouse2mqtt } from "../setup/discover/support/account.js";
import { portOf } from "../setup/doctor/support/front.js";
import { running } from "../simulator/running.js";

it.each(profileNames)("the last day of a station is read in the dialect %s", async (profile) => {
  const config = await configuration(await running({ controllers: 1, profile }));
  const { code, out } = await greenhouse2mqtt(["history", "WS-0001", "-c", config]);
  expect(code).toBe(0);
  const rows = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(rows.length).toBe(23);
  expect(rows.at(-1)).toMatchObject({
    airTemperature: expect.any(Number) as number,
    airHumidity: expect.any(Number) as number,
  });
  const times = rows.map(({ at }) => String(at));
  expect(times).toEqual(times.toSorted());
});

it("a station that the configuration does not name is asked by its topic id too", async () => {
  const config = await configuration(await running({ controllers: 1 }));
  const { code, out } = await greenhouse2mqtt(["history", "ws-0001", "-c", config, "--since", "5h"]);
  expect(code).toBe(0);
  expect(out.trim().split("\n").length).toBeGreaterThanOrEqual(4);
});

it("as CSV it has a column for each quantity, and --since leaves out what is older", async () => {
  const config = await configuration(await running({ controllers: 1 }));
  const { out } = await greenhouse2mqtt(["history", "WS-0001", "-c", config, "--csv", "--since", "5h"]);
  const [head = "", ...rows] = out.trim().split("\r\n");
  expect(head).toMatch(/^\uFEFF?at,airTemperature,airHumidity,/);
  expect(rows.length).toBeGreaterThanOrEqual(4);
  expect(rows.length).toBeLessThanOrEqual(6);
});

/** A platform that gives the same answer to everything. */
async function answering(body: string): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(body),
  );
  const url = `http://127.0.0.1:${await portOf(server)}`;
  onTestFinished(() => void server.close());
  return configuration({ businessUrl: url, realtimeUrl: url, seen: [], onRequest: () => undefined });
}

it("an account without past readings is told so, and an answer that is too large with what to ask for instead", async () => {
  const empty = await greenhouse2mqtt([
    "history",
    "GH-0001",
    "-c",
    await answering('{"code":200,"data":[]}'),
  ]);
  expect([empty.code, empty.err]).toEqual([
    1,
    expect.stringContaining("weather-data/list gives no past readings of GH-0001"),
  ]);
  const large = JSON.stringify({ code: 200, data: ["x".repeat(3 * 1024 * 1024)] });
  const ended = await greenhouse2mqtt(["history", "GH-0001", "-c", await answering(large)]);
  expect(ended.code).toBe(1);
  expect(ended.err).toMatch(
    /weather-data\/list.*larger than 2 MiB[^]*ask for less: `greenhouse2mqtt history GH-0001 startTime=/,
  );
  const wrong = await greenhouse2mqtt(["history", "GH-0001", "-c", await answering("{}"), "--since", "soon"]);
  expect(wrong.code).toBe(2);
});
