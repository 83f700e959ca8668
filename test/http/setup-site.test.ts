import { request } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { Faults } from "../../src/http/faults.js";
import { OneTimeCode } from "../../src/http/first-operator.js";
import { serveSetup } from "../../src/http/setup-site.js";
import { systemClock } from "../../src/runtime/clock.js";
import { silentLog } from "../../src/runtime/log.js";

/** The site at an address of this computer; answers with the status of a step that is asked for through `headers`. */
async function siteAt(host: string) {
  const code = new OneTimeCode();
  const ended = new AbortController();
  const done: { served: Promise<void> } = { served: Promise.resolve() };
  const port = await new Promise<number>((onListening) => {
    const steps = { brokers: () => Promise.resolve([]) };
    const restore = () => Promise.resolve({});
    const faults = new Faults(silentLog, systemClock);
    done.served = serveSetup(0, { host, code, steps, restore, faults, onListening }, ended.signal);
  });
  onTestFinished(async () => {
    ended.abort();
    await done.served;
  });
  const ask = (text: string, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<number>((resolve, reject) => {
      const asked = request(
        { host: "127.0.0.2", port, method: "POST", path: "/api/setup/brokers" },
        (answer) => resolve(answer.resume().statusCode ?? 0),
      );
      asked.on("error", reject).setHeader("content-type", "application/json");
      for (const [name, value] of Object.entries(headers)) asked.setHeader(name, value);
      asked.end(JSON.stringify({ code: text }));
    });
  return { ask, code: code.text };
}

const passedOn = { "x-forwarded-for": "192.0.2.1" };

describe("the questions of init --web", () => {
  it("are for this computer alone where nothing else is asked for", async () => {
    const { ask, code } = await siteAt("127.0.0.2");
    expect(await ask(code)).toBe(200);
    expect(await ask(code, passedOn)).toBe(403);
  });

  it("are for others too at an address that others reach, and for nobody without the code", async () => {
    const { ask, code } = await siteAt("0.0.0.0");
    expect(await ask(code, passedOn)).toBe(200);
    expect(await ask("AAAA-AAAA")).toBe(401);
    expect(await ask(code, { host: "evil.example" })).toBe(421);
    expect(await ask(code, { origin: "http://evil.example" })).toBe(403);
  });
});
