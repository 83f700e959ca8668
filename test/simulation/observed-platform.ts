import { PlatformError } from "../../src/greenhouse/platform-error.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { PlatformClient } from "../../src/platform/client.js";
import type { Bridge } from "./bridge.js";
import type { Read, Write } from "./history.js";
import type { World } from "./world.js";

type WriteAnswer = ReturnType<PlatformClient["write"]>;

/** The product's client with every read and write of one run of the program noted in the history. */
export class ObservedPlatform {
  readonly #world: World;
  readonly #bridge: Bridge;
  readonly #client: PlatformClient;

  constructor(world: World, bridge: Bridge, client: PlatformClient) {
    this.#world = world;
    this.#bridge = bridge;
    this.#client = client;
  }

  /** As the commands, or as everything else sees it. */
  seen(byCommand: boolean): PlatformClient {
    const client = this.#client;
    return {
      ...client,
      value: (code, address, fresh, signal) => {
        const read = this.#begin(code, address, { fresh, byCommand });
        return this.#finish(read, client.value(code, address, fresh, signal));
      },
      values: async (code, group, signal) => {
        const read = this.#begun(code, "", { fresh: true, byCommand });
        const values = await client.values(code, group, signal);
        for (const [address, raw] of values) this.#shown({ ...read, address }, raw);
        return values;
      },
      connection: async (code, signal) => {
        const read = this.#begin(code, "", { fresh: true, byCommand });
        const connection = await client.connection(code, signal);
        Object.assign(read, { endedAt: this.#world.time.now, answered: true, raw: connection });
        return connection;
      },
      write: (code, address, value, signal) =>
        this.#write({ code, address, value }, (): WriteAnswer => client.write(code, address, value, signal)),
    };
  }

  #begun(code: string, address: string, how: Pick<Read, "fresh" | "byCommand">): Read {
    return {
      boot: this.#bridge.boot,
      code,
      address,
      ...how,
      begunAt: this.#world.time.now,
      begunMono: this.#bridge.clock.monotonic(),
      endedAt: null,
      raw: null,
      answered: false,
      isLie: false,
    };
  }

  #begin(code: string, address: string, how: Pick<Read, "fresh" | "byCommand">): Read {
    const read = this.#begun(code, address, how);
    this.#world.journalist.read(read);
    return read;
  }

  async #finish(read: Read, answer: Promise<RawValue | null>): Promise<RawValue | null> {
    const { journalist, time } = this.#world;
    const raw = await answer;
    const isLie = raw !== null && this.#world.isLie(read, raw);
    Object.assign(read, { endedAt: time.now, answered: true, raw, isLie });
    if (read.byCommand)
      journalist.note("read", { of: `${read.code}/${read.address}`, raw, ...(isLie ? { lie: true } : {}) });
    return raw;
  }

  /** One of a group's values; the read is noted now that its address is known. */
  #shown(read: Read, raw: RawValue): void {
    Object.assign(read, { endedAt: this.#world.time.now, answered: true, raw });
    read.isLie = this.#world.isLie(read, raw);
    this.#world.journalist.read(read);
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
