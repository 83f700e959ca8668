import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import tls from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { features } from "../../src/config/features.js";
import { systemClock } from "../../src/runtime/clock.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";
import { capturedLog, otherClient, testBroker, until, tempFolder } from "../mqtt-connection/support.js";
import { renewedCertificate, testCertificate } from "./certificate.js";

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function certificateFiles() {
  const folder = await tempFolder();
  const files = { cert: join(folder, "broker.pem"), key: join(folder, "broker.key") };
  const write = async ({ cert, key }: Partial<Pair>) => {
    if (cert !== undefined) await writeFile(files.cert, cert);
    if (key !== undefined) await writeFile(files.key, key);
  };
  await write(testCertificate);
  return { files, write };
}

/** The name in the certificate that a new client without a server name is shown. */
async function shownName(port: number): Promise<string | undefined> {
  const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  try {
    return await new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.once("secureConnect", () => resolve([socket.getPeerCertificate().subject.CN].flat()[0]));
    });
  } finally {
    socket.destroy();
  }
}

async function brokerWithFiles() {
  const { files, write } = await certificateFiles();
  const { log, lines } = capturedLog();
  const broker = await testBroker({ tls: { ...files, port: 0 } }, { log });
  const port = broker.tlsPort ?? 0;
  expect(await shownName(port)).toBe("localhost");
  lines.length = 0;
  return { broker, port, files, write, lines };
}

describe("the certificate of the embedded broker", () => {
  it("is read again on demand: new clients see the renewed one, connected ones stay", async () => {
    const { broker, port, write, lines } = await brokerWithFiles();
    const before = await otherClient(`mqtts://localhost:${port}`, { ca: testCertificate.cert });
    await write(renewedCertificate);
    await broker.renewCertificate();
    expect(await shownName(port)).toBe("renewed");
    const after = await otherClient(`mqtts://localhost:${port}`, { ca: renewedCertificate.cert });
    await after.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    await before.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    const told = lines.filter((line) => line.includes("broker.tls"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^info .*new connections.*"validTo":"Oct 28 .* 2126 GMT"/);
  });

  it("is not talked about when its files are the same as before, or when there is none", async () => {
    const { broker, lines } = await brokerWithFiles();
    await broker.renewCertificate();
    expect(lines).toEqual([]);
    await (await testBroker()).renewCertificate();
  });

  it.each<readonly [string, Partial<Pair>, "cert" | "key"]>([
    ["the certificate is empty", { cert: "" }, "cert"],
    ["the certificate is cut off", { cert: renewedCertificate.cert.slice(0, 300) }, "cert"],
    ["the key is cut off", { key: renewedCertificate.key.slice(0, 90) }, "key"],
    ["only the certificate is new yet", { cert: renewedCertificate.cert }, "cert"],
  ])("stays when %s, and the log names the file; put right, it is used", async (_, broken, named) => {
    const { broker, port, files, write, lines } = await brokerWithFiles();
    await write(broken);
    await broker.renewCertificate();
    expect(await shownName(port)).toBe("localhost");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^error broker\.tls: the certificate in use stays.*reload again/);
    expect(lines[0]).toContain(`broker.tls.${named} (${files[named]})`);
    expect(lines[0]).not.toContain("BEGIN");
    await write(renewedCertificate);
    await broker.renewCertificate();
    expect(await shownName(port)).toBe("renewed");
  });

  it("stays when a file is gone, and the log names it", async () => {
    const { broker, port, files, lines } = await brokerWithFiles();
    await rm(files.key);
    await broker.renewCertificate();
    expect(await shownName(port)).toBe("localhost");
    expect(lines[0]).toMatch(/^error broker\.tls: the certificate in use stays.*broker\.tls\.key: ENOENT/);
    expect(lines[0]).toContain(files.key);
  });

  it("that does not fit its key, or is empty, is no start", async () => {
    const { cert } = renewedCertificate;
    for (const pair of [
      { ...testCertificate, cert },
      { ...testCertificate, cert: "-----BEGIN " },
    ])
      await expect(testBroker({ tls: { ...pair, port: 0 } })).rejects.toMatchObject({ key: "broker.tls" });
  });

  it("is read again at a reload of the configuration, though nothing changed there", async () => {
    const { files, write } = await certificateFiles();
    const text = [
      `broker: { port: 0, tls: { cert: ${files.cert}, key: ${files.key}, port: 0 } }`,
      "http: false",
    ].join("\n");
    const configuration = await configurationOf(text, await platform());
    const { log, lines } = capturedLog();
    const live = new LiveSettings(configuration);
    const journal = { append: () => Promise.reject(new Error("nobody logs in")) };
    const onReload = (listener: (now: typeof configuration) => void) =>
      live.onReload(() => listener(live.configured));
    const broker = await features.broker.start(configuration, { clock: systemClock, log, journal, onReload });
    onTestFinished(() => broker?.close());
    await write(renewedCertificate);
    expect(live.reload(configuration)).toEqual({ applied: [], needRestart: [] });
    await until(() => lines.some((line) => line.includes("read again")), "read again", lines);
    expect(await shownName(broker?.tlsPort ?? 0)).toBe("renewed");
  });
});
