import { Socket, type TcpNetConnectOpts } from "node:net";
import { openSocket } from "../../src/runtime/connecting.js";
import { NameError, Names, type NameSources } from "../../src/runtime/host-names.js";
import type { VirtualTime } from "../support/virtual-clock.js";
import { type Journalist, Violation } from "./history.js";
import type { Chance } from "./scenario.js";
import type { BootClock } from "./time.js";

/*
 * Host names of the platform for the program's own look-ups and connections. For minutes or hours a name is silent,
 * slow or unknown, or one family of its addresses leads nowhere.
 */

type NameFault = "silent" | "slow" | "unknown" | "dead family";

/** A time in which something is wrong with all names. */
export interface NameTrouble {
  readonly fault: NameFault;
  readonly from: number;
  readonly until: number;
}

/** The addresses of each host; of both families if there are faults. */
const addresses = { v4: "192.0.2.10", v6: "2001:db8::10" } as const;

interface Around {
  readonly time: VirtualTime;
  readonly journalist: Pick<Journalist, "saw">;
  readonly chance: Chance;
  readonly troubles: readonly NameTrouble[];
  readonly fail: (violation: Violation) => void;
}

interface Connecting {
  readonly host: string;
  readonly limitMs: number;
  readonly latencyMs: () => number;
  readonly signal: AbortSignal;
}

/** Name resolution of one run of the program. */
export class SimulatedNames {
  readonly #around: Around;
  readonly #clock: BootClock;
  readonly #names: Names;
  /** Hosts whose addresses this run has found. */
  readonly #found = new Set<string>();

  constructor(clock: BootClock, around: Around) {
    this.#clock = clock;
    this.#around = around;
    this.#names = new Names(clock, this.#sources());
  }

  /** Resolves once a connection is established; rejects like the program's own connection. */
  async connect({ host, limitMs, latencyMs, signal }: Connecting): Promise<void> {
    const dialled: string[] = [];
    const dial = (to: TcpNetConnectOpts) => {
      const address = to.host ?? "";
      dialled.push(address);
      const socket = new Socket();
      if (address === this.#deadAddress()) this.#around.journalist.saw("an address that leads nowhere");
      else this.#clock.in(latencyMs(), () => socket.destroyed || socket.emit("connect"));
      return socket;
    };
    const way = { host, port: 443, names: this.#names, connectMs: limitMs, clock: this.#clock, signal, dial };
    try {
      await openSocket(way);
      if (this.#is("silent")) this.#around.journalist.saw("a host is reached while its name is silent");
    } catch (error) {
      if (!signal.aborted) this.#judge(host, dialled, error);
      throw error;
    }
  }

  /** S26. */
  #judge(host: string, dialled: readonly string[], error: unknown): void {
    const broken = (text: string) => this.#around.fail(new Violation("S26", `${host}: ${text}`));
    if (error instanceof NameError && this.#found.has(host))
      broken("given up for its name, although its addresses had been found");
    const live = Object.values(addresses).filter((one) => one !== this.#deadAddress());
    if (dialled.length > 0 && !live.some((one) => dialled.includes(one)))
      broken(`nobody tried ${live.join()}, only ${dialled.join()} which leads nowhere`);
  }

  #is(fault: NameFault): boolean {
    const { time, troubles } = this.#around;
    return troubles.some((one) => one.fault === fault && one.from <= time.now && time.now < one.until);
  }

  #deadAddress(): string | null {
    return this.#is("dead family") ? addresses.v6 : null;
  }

  #sources(): NameSources {
    const { troubles, chance } = this.#around;
    const answer = async (host: string, signal: AbortSignal): Promise<readonly string[]> => {
      if (this.#is("unknown")) throw new NameError("ENOTFOUND", host);
      const tookMs = this.#is("slow") ? chance.logUniform(300, 9_000) : chance.logUniform(1, 60);
      await this.#clock.wait(this.#is("silent") ? 3_600_000 : tookMs, signal).catch(() => {
        throw new NameError("EAI_AGAIN", host);
      });
      this.#found.add(host);
      return Object.values(addresses).toReversed();
    };
    return {
      // Without faults of names, resolving takes no time.
      hosts: () => (troubles.length === 0 ? allNames : ""),
      servers: async (host, signal) => ({ addresses: await answer(host, signal) }),
      system: answer,
      each: () => Promise.resolve([]),
    };
  }
}

const hosts = { business: "business.example.com", realtime: "realtime.example.com" } as const;
const allNames = `${addresses.v4} ${Object.values(hosts).join(" ")}`;
