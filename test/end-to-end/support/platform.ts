import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { Program } from "./program.js";

/* The simulated platform in its own process, told over HTTP what is to happen at the greenhouses. */

export interface SimulatedPlatform {
  /** Of both hosts. */
  readonly url: string;
  readonly program: Program;
  /** `{"do": what, ...fields}`; rejects when the simulator does not understand it. */
  tell(what: string, fields?: Readonly<Record<string, unknown>>): Promise<void>;
  codes(): Promise<readonly string[]>;
  /** Requests answered so far, by operation. */
  requests(): Promise<Readonly<Record<string, number>>>;
  /** Waits until the platform got this many more requests of an operation than now. */
  untilAsked(operation: string, more: number, timeoutMs?: number): Promise<void>;
  /** Waits until it got this many in all. */
  untilTotal(operation: string, total: number, timeoutMs?: number): Promise<void>;
  posts(): Promise<readonly Post[]>;
  /** Arms one entry of a fault file. */
  fault(entry: Readonly<Record<string, unknown>>): Promise<void>;
  /** What the register of an address really holds. */
  register(controller: string, address: string): Promise<string>;
  /** All that it held, oldest first. */
  held(controller: string, address: string): Promise<readonly Held[]>;
}

/** From when on a register held a value; `at` is epoch ms. */
export interface Held {
  readonly at: number;
  readonly value: string;
}

/** One `POST /api/set-value` as the platform saw it; `at` is epoch ms. */
export interface Post {
  readonly at: number;
  readonly requestId: string;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly effect: string;
}

export async function platformOf(program: Program): Promise<SimulatedPlatform> {
  const [, url = ""] = await program.untilPrinted(/business_url: (\S+)/, 60_000);
  const view = async (name: string): Promise<unknown> =>
    JSON.parse((await ask(`${url}/_simulator/${name}`)).body);
  const tell: SimulatedPlatform["tell"] = async (what, fields = {}) => {
    const order = JSON.stringify({ do: what, ...fields });
    const { status, body } = await ask(`${url}/_simulator/control`, order);
    if (status !== 200) throw new Error(`the simulator refused ${order}: ${body}`);
  };
  const untilTotal = async (operation: string, total: number, timeoutMs = 40_000) => {
    const end = performance.now() + timeoutMs;
    for (let count = 0; count < total; count = (await requests())[operation] ?? 0) {
      if (performance.now() > end) throw new Error(`${count} of ${total} requests of ${operation} in time`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const stateOf = async (controller: string, address: string) =>
    (await view(`state?controller=${controller}&address=${address}`)) as {
      readonly value: string;
      readonly held: readonly Held[];
    };
  const requests = async () => (await view("requests")) as Readonly<Record<string, number>>;
  return {
    url,
    program,
    requests,
    tell,
    fault: (entry) => tell("fault", { fault: entry }),
    register: async (...where) => (await stateOf(...where)).value,
    held: async (...where) => (await stateOf(...where)).held,
    codes: async () => (await view("controllers")) as readonly string[],
    posts: async () => (await view("posts")) as readonly Post[],
    untilAsked: async (operation, more, timeoutMs) =>
      untilTotal(operation, ((await requests())[operation] ?? 0) + more, timeoutMs),
    untilTotal,
  };
}

/** On a connection of its own: one kept open may be closed by the simulator at the moment it is used again. */
async function ask(url: string, body?: string): Promise<{ readonly status: number; readonly body: string }> {
  const asking = request(url, { agent: false, method: body === undefined ? "GET" : "POST" });
  asking.end(body);
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}
