import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import anyAscii from "any-ascii";
import { describe, expect, it, onTestFinished } from "vitest";
import { runProgram } from "../../src/cli/program.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import { systemClock } from "../../src/runtime/clock.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform } from "../config/loading.js";
import { otherClient, stateTopic, testBroker } from "../mqtt-connection/support.js";

const controllers = `controllers:
  温室1: { parameters: { ec: { address: 501, writable: { min: 0, max: 5, step: 1 } } } }
  GH-0001: { id: east }
`;

/** `set` beside a bridge that answers every command alike; `asked` are the topics it was asked on. */
async function besideBridge(answer: Readonly<Record<string, unknown>> = { outcome: "confirmed" }) {
  const broker = await testBroker();
  const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
  const asked: string[] = [];
  bridge.on("message", (topic, payload) => {
    asked.push(topic);
    const { id } = JSON.parse(payload.toString()) as { readonly id: string };
    bridge.publish(topic.replace(/set$/, "result"), JSON.stringify({ id, ...answer }), { qos: 1 });
  });
  await bridge.subscribeAsync("greenhouse/+/+/+/set", { qos: 1 });
  await bridge.publishAsync(stateTopic, "online", { retain: true, qos: 1 });
  const folder = await mkdtemp(join(tmpdir(), "set-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, "config.yaml");
  await writeFile(config, `${platform}mqtt: { url: "${broker.url}" }\n${controllers}`);
  const state = (said: string) => bridge.publishAsync(stateTopic, said, { retain: true, qos: 1 });
  return { asked, state, set: (...words: readonly string[]) => run(["set", "-c", config, ...words]), config };
}

async function run(words: readonly string[], stop = new AbortController().signal) {
  let errors = "";
  const write = (text: string) => {
    errors += text;
  };
  const env = { TOKEN: "token-of-the-account" };
  const around = { env, out: () => undefined, err: { write }, isTerminal: false, stop };
  return { exitCode: await runProgram(["node", "greenhouse2mqtt", ...words], around), errors };
}

async function idInBridge(code: string): Promise<string | undefined> {
  const { configuration } = await loaded(`${platform}${controllers}`);
  const store = new GreenhouseStore(mirrorSettings(configuration), systemClock, anyAscii);
  return store.admit(code).info.id;
}

describe("set", () => {
  it.each(["温室1", "温室2", "GH-0001", "GH/7"])(
    "reaches the controller of device code %s where the bridge has it",
    async (code) => {
      const { asked, set } = await besideBridge();
      expect(await set(code, "roof", "open")).toEqual({ exitCode: 0, errors: "" });
      expect(asked).toEqual([`greenhouse/${await idInBridge(code)}/actuator/roof/set`]);
    },
  );

  it.each(["gh-0009", "constructor"])("takes a name in small letters for a topic id: %s", async (name) => {
    const { asked, set } = await besideBridge();
    await set(name, "address/101", "10010");
    expect(asked).toEqual([`greenhouse/${name}/address/101/set`]);
  });

  it("knows the parameters of a controller by the topic id that is made of its code", async () => {
    const { asked, set } = await besideBridge();
    const id = (await idInBridge("温室1")) ?? "";
    expect(await set(id, "ec", "2")).toEqual({ exitCode: 0, errors: "" });
    expect(asked).toEqual([`greenhouse/${id}/parameter/ec/set`]);
  });

  it.each([
    "parameter/EC 2",
    "address/1 2",
    "Roof",
    "actuator/Roof",
    "parameter/a/b",
    "valve/1",
    "address/",
    "a\nb",
    "",
  ])("of %j, which can be no target, is a usage error in one line", async (name) => {
    const { asked, set } = await besideBridge();
    const { exitCode, errors } = await set("east", name, "open");
    expect(exitCode).toBe(2);
    expect(errors).toMatch(/^"[^\n]*" can be no [^\n]*\n$/);
    expect(asked).toEqual([]);
  });

  it("sends nothing through a bridge that is offline, nor after a signal", async () => {
    const { asked, state, set, config } = await besideBridge();
    const stopped = await run(["set", "-c", config, "GH-0001", "roof", "open"], AbortSignal.abort());
    expect(stopped).toEqual({ exitCode: 1, errors: "stopped; the command was not sent\n" });
    await state("offline");
    expect((await set("GH-0001", "roof", "open")).exitCode).not.toBe(0);
    expect(asked).toEqual([]);
  });

  it("of a target that is only unknown ends as the bridge answers", async () => {
    const { asked, set } = await besideBridge({ outcome: "refused", reason: "unknown_actuator" });
    expect(await set("east", "nowhere", "open")).toMatchObject({ exitCode: 3 });
    expect(await set("east", "address/A.1", "1010")).toMatchObject({ exitCode: 3 });
    expect(asked).toEqual(["greenhouse/east/actuator/nowhere/set", "greenhouse/east/address/A.1/set"]);
  });
});
