import { PlatformError, type RawValue } from "../../src/greenhouse/ports.js";
import type { PlatformClient } from "../../src/platform/client.js";
import type { Bridge } from "./bridge.js";
import type { Read, Write } from "./history.js";
import type { World } from "./world.js";

type WriteAnswer = ReturnType<PlatformClient["write"]>;

/** The product's client as commands see it, with every read and write noted in the history. Polling goes past it. */
export class ObservedPlatform {
  readonly #world: World;
  readonly #bridge: Bridge;
  readonly #client: PlatformClient;

  constructor(world: World, bridge: Bridge, client: PlatformClient) {
    this.#world = world;
    this.#bridge = bridge;
    this.#client = client;
  }

  seen(): PlatformClient {
    const client = this.#client;
    return {
      ...client,
      value: async (code, address, fresh, signal) => {
        const read = this.#begin(code, address, fresh);
        const raw = await client.value(code, address, fresh, signal);
        const isLie = raw !== null && this.#world.isLie(read, raw);
        this.#end(read, raw, isLie);
        const of = `${code}/${address}`;
        this.#world.journalist.note("read", { of, raw, ...(isLie ? { lie: true } : {}) });
        return raw;
      },
      connection: async (code, signal, pace) => {
        const read = this.#begin(code, "", true);
        const connection = await client.connection(code, signal, pace);
        this.#end(read, connection.state, false);
        return connection;
      },
      write: (code, address, value, signal, manner) =>
        this.#write({ code, address, value }, (): WriteAnswer =>
          client.write(code, address, value, signal, manner),
        ),
    };
  }

  #begin(code: string, address: string, fresh: boolean): Read {
    const read: Read = {
      boot: this.#bridge.boot,
      code,
      address,
      fresh,
      begunAt: this.#world.time.now,
      begunMono: this.#bridge.clock.monotonic(),
      endedAt: null,
      raw: null,
      answered: false,
      isLie: false,
    };
    this.#world.journalist.read(read);
    return read;
  }

  #end(read: Read, raw: RawValue | null, isLie: boolean): void {
    Object.assign(read, { endedAt: this.#world.time.now, answered: true, raw, isLie });
  }

  async #write(
    { code, address, value }: Pick<Write, "code" | "address" | "value">,
    send: () => WriteAnswer,
  ): WriteAnswer {
    const { journalist, time, checks } = this.#world;
    const write: Write = {
      ask: checks.sender(code, address),
      boot: this.#bridge.boot,
      code,
      address,
      value,
      begunAt: time.now,
      endedAt: null,
      outcome: null,
      sent: false,
      bodyCode: null,
      wires: 0,
      arrived: null,
    };
    checks.posting(this.#bridge, write);
    this.#world.posting(
      write.ask?.writes.some((one) => one.address === address && one.value === value) === true,
    );
    journalist.write(write);
    try {
      const answer = await send();
      Object.assign(write, { outcome: "accepted", sent: true, bodyCode: answer.code });
      return answer;
    } catch (error) {
      write.outcome = "defect";
      if (error instanceof PlatformError) {
        const { kind, sent, code: bodyCode } = error.facts;
        Object.assign(write, { outcome: kind, sent, bodyCode: bodyCode ?? null });
        journalist.saw(`POST ${kind}`);
      }
      throw error;
    } finally {
      write.endedAt = time.now;
      journalist.wrote(write);
    }
  }
}
