import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startProgram } from "../end-to-end/support/program.js";
import { freePort } from "../support/mosquitto.js";
import { running } from "../simulator/running.js";

/** The built program at a simulated platform: how many of the 96 parts of the last day are known of each sensor. */
async function knownParts(more: string): Promise<() => Promise<Record<string, number>>> {
  const simulator = await running({ controllers: 1 });
  const folder = await mkdtemp(join(tmpdir(), "past-"));
  const [port, broker] = [await freePort(), await freePort()];
  await writeFile(
    join(folder, "config.yaml"),
    [
      `platform: { business_url: "${simulator.businessUrl}", realtime_url: "${simulator.realtimeUrl}", token: simulator }`,
      `broker: { port: ${broker} }`,
      `http: { port: ${port}${more} }`,
    ].join("\n"),
    { mode: 0o600 },
  );
  const program = startProgram(["run"], { folder });
  onTestFinished(async () => {
    await program.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/trends/ws-0001`).catch(() => null);
    if (answer?.status !== 200) return {};
    const { sensors } = (await answer.json()) as { readonly sensors: Record<string, (number | null)[]> };
    return Object.fromEntries(
      Object.entries(sensors).map(([id, points]) => [id, points.filter((one) => one !== null).length]),
    );
  };
}

const patient = { timeout: 40_000, interval: 500 };

it("a page that was just installed shows the station's last day, where the platform has kept it and it is wanted", async () => {
  const [filled, empty] = await Promise.all([knownParts(""), knownParts(", past_readings: false")]);
  await expect.poll(async () => (await filled())["windspeed"], patient).toBeGreaterThanOrEqual(22);
  const known = await filled();
  expect(known["airtemp"]).toBeGreaterThanOrEqual(22);
  expect(known["pressure"] ?? 0).toBeLessThanOrEqual(2);
  await expect.poll(async () => (await empty())["windspeed"], patient).toBeGreaterThan(0);
  expect((await empty())["windspeed"]).toBeLessThanOrEqual(2);
}, 90_000);
