import { readFileSync } from "node:fs";
import { Aedes } from "aedes";
import { describe, expect, it, onTestFinished } from "vitest";
import { demandInsides } from "../../src/broker/wiring.js";

async function aedes(): Promise<Aedes> {
  const broker = await Aedes.createBroker();
  onTestFinished(() => broker.close());
  return broker;
}

/** The same without a part, as another version of its package might be. */
const without = <T extends object>(from: T, name: string, instead?: unknown): T =>
  Object.create(from, { [name]: { value: instead } }) as T;

function withoutOfStore(broker: Aedes, name: string): Aedes {
  const { persistence } = broker as unknown as { persistence: object };
  return without(broker, "persistence", without(persistence, name));
}

const withoutOfClients = (broker: Aedes, name: string): Aedes =>
  without(broker, "handle", (stream: Parameters<Aedes["handle"]>[0]) => without(broker.handle(stream), name));

describe("the insides of the broker's library", () => {
  it("are as they are known, in the one version that package.json allows", async () => {
    const broker = await aedes();
    expect(() => demandInsides(broker)).not.toThrow();
    const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as { [key: string]: unknown };
    const { version } = read("node_modules/aedes/package.json");
    expect(read("package.json")).toMatchObject({ dependencies: { aedes: version } });
    expect(read("package-lock.json")).toMatchObject({
      packages: { "": { dependencies: { aedes: version } } },
    });
  });

  it.each([
    ["clients", (broker: Aedes) => without(broker, "clients")],
    ["clampSessionExpiry", (broker: Aedes) => without(broker, "clampSessionExpiry")],
    ["persistence.addSubscriptions", (broker: Aedes) => withoutOfStore(broker, "addSubscriptions")],
    ["persistence.outgoingUpdate", (broker: Aedes) => withoutOfStore(broker, "outgoingUpdate")],
    ["client.waitForDrain", (broker: Aedes) => withoutOfClients(broker, "waitForDrain")],
    ["client._parser", (broker: Aedes) => withoutOfClients(broker, "_parser")],
  ])("are demanded at the start, with an error that names the cause: %s", async (name, changed) => {
    const broker = changed(await aedes());
    expect(() => demandInsides(broker)).toThrow(
      new RegExp(`^broker: .*lacks ${name},.*aedes 2\\.0\\.0-beta\\.1.*npm ci`),
    );
  });
});
