import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { mirrorSettings } from "../../src/sync/settings.js";
import { systemClock } from "../../src/runtime/clock.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform } from "../config/loading.js";
import { stateTopic } from "../mqtt-connection/support.js";
import { besideBridge, type Fields } from "./beside-bridge.js";

const controllers = `controllers:
  温室1: { parameters: { ec: { address: 501, writable: { min: 0, max: 5, step: 1 } } } }
  GH-0001: { id: east }
`;

/** `set` beside a bridge that answers every command alike; `asked` are the topics it was asked on. */
async function answering(answer: Fields = { outcome: "confirmed" }) {
  const asked: string[] = [];
  const answersTo = (topic: string, { id }: Fields) => {
    asked.push(topic);
    return [[topic.replace(/set$/, "result"), { id, ...answer }]] as const;
  };
  const { keep, run } = await besideBridge("greenhouse/+/+/+/set", answersTo, controllers);
  const set = async (words: readonly string[], stop?: AbortSignal) => {
    const { code, err } = await run(["set", ...words], stop && { stop });
    return { code, err };
  };
  return { asked, keep, set };
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
      const { asked, set } = await answering();
      expect(await set([code, "roof", "open"])).toEqual({ code: 0, err: "" });
      expect(asked).toEqual([`greenhouse/${await idInBridge(code)}/actuator/roof/set`]);
    },
  );

  it.each(["gh-0009", "constructor"])("takes a name in small letters for a topic id: %s", async (name) => {
    const { asked, set } = await answering();
    await set([name, "address/101", "10010"]);
    expect(asked).toEqual([`greenhouse/${name}/address/101/set`]);
  });

  it("knows the parameters of a controller by the topic id that is made of its code", async () => {
    const { asked, set } = await answering();
    const id = (await idInBridge("温室1")) ?? "";
    expect(await set([id, "ec", "2"])).toEqual({ code: 0, err: "" });
    expect(asked).toEqual([`greenhouse/${id}/parameter/ec/set`]);
  });

  it("of what can be no target is a usage error in one line", async () => {
    const { asked, set } = await answering();
    const none = ["parameter/EC 2", "address/1 2", "Roof", "actuator/Roof", "parameter/a/b", "valve/1"];
    for (const name of [...none, "address/", "a\nb", ""]) {
      const { code, err } = await set(["east", name, "open"]);
      expect(code).toBe(2);
      expect(err).toMatch(/^"[^\n]*" can be no [^\n]*\n$/);
    }
    expect(asked).toEqual([]);
  });

  it("sends nothing through a bridge that is offline, nor after a signal", async () => {
    const { asked, keep, set } = await answering();
    const stopped = await set(["GH-0001", "roof", "open"], AbortSignal.abort());
    expect(stopped).toEqual({ code: 1, err: "stopped; the command was not sent\n" });
    await keep(stateTopic, "offline");
    expect((await set(["GH-0001", "roof", "open"])).code).not.toBe(0);
    expect(asked).toEqual([]);
  });

  it("of a target that is only unknown ends as the bridge answers", async () => {
    const { asked, set } = await answering({ outcome: "refused", reason: "unknown_actuator" });
    expect(await set(["east", "nowhere", "open"])).toMatchObject({ code: 3 });
    expect(await set(["east", "address/A.1", "1010"])).toMatchObject({ code: 3 });
    expect(asked).toEqual(["greenhouse/east/actuator/nowhere/set", "greenhouse/east/address/A.1/set"]);
  });
});
