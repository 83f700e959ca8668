import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { claimFormat } from "../../src/journal/open.js";
import { holderOf } from "../../src/journal/lock.js";
import { fileWith, folder, greenhouse2mqtt } from "./in-process.js";

it("a journal is imported by who alone has its data directory, from the first moment on", async () => {
  const dataDir = join(await folder(), "data");
  await mkdir(dataDir);
  await claimFormat(dataDir);
  const configuration = {
    platform: {
      business_url: "https://business.example.com",
      realtime_url: "https://realtime.example.com",
      token: "token",
    },
    mqtt: { url: "mqtt://127.0.0.1:1" },
    // Nobody listens there, so that it waits.
    cluster: { nats: ["nats://127.0.0.1:1"], replicas: 1, name: "greenhouses" },
    data_dir: dataDir,
  };
  const config = await fileWith(JSON.stringify(configuration));
  const stop = new AbortController();
  let isWaiting: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (isWaiting = resolve));
  const said = (text: string) => {
    if (text.includes("no link to the NATS servers")) isWaiting();
  };
  const importing = greenhouse2mqtt(["journal", "import", "--config", config], { stop: stop.signal, said });
  const ended = await Promise.race([importing, waiting]);
  expect(ended).toBeUndefined();
  expect(await holderOf(dataDir)).not.toBeNull();
  const second = await greenhouse2mqtt(["journal", "import", "--config", config]);
  expect(second).toMatchObject({ code: 1 });
  expect(second.err).toContain("a bridge works in");
  stop.abort();
  await importing;
  expect(await holderOf(dataDir)).toBeNull();
});
