import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { Program } from "./program.js";

/* The simulated platform in its own process, told over HTTP what is to happen at the greenhouses. */

export type SimulatedPlatform = Awaited<ReturnType<typeof platformOf>>;

/** From when on a register held a value; `at` is epoch ms. */
export interface Held {
  readonly at: number;
  readonly value: string;
}

/** One `POST /api/set-value` as the platform saw it; `at` is epoch ms. */
interface Post {
  readonly at: number;
  readonly requestId: string;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly effect: string;
}

export async function platformOf(program: Program) {
  const [, url = ""] = await program.untilPrinted(/business_url: (\S+)/, 60_000);
  const view = async (name: string): Promise<unknown> =>
    JSON.parse((await ask(`${url}/_simulator/${name}`)).body);
  /** `{"do": what, ...fields}`; rejects when the simulator does not understand it. */
  const tell = async (what: string, fields: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    const order = JSON.stringify({ do: what, ...fields });
    const { status, body } = await ask(`${url}/_simulator/control`, order);
    if (status !== 200) throw new Error(`the simulator refused ${order}: ${body}`);
  };
  /** Requests answered so far, by operation. */
  const requests = async () => (await view("requests")) as Readonly<Record<string, number>>;
  /** Waits until it got this many of an operation in all. */
  const untilTotal = async (operation: string, total: number, timeoutMs = 40_000): Promise<void> => {
    const end = performance.now() + timeoutMs;
    for (let count = 0; count < total; count = (await requests())[operation] ?? 0) {
      if (performance.now() > end) throw new Error(`${count} of ${total} requests of ${operation} in time`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const stateOf = async (controller: string, address: string) =>
    (await view(`state?controller=${controller}&address=${address}`)) as {
      readonly value: string;
      readonly levels: readonly number[];
      readonly held: readonly Held[];
    };
  return {
    ...{ url, program, requests, tell, untilTotal },
    /** Arms one entry of a fault file. */
    fault: (entry: Readonly<Record<string, unknown>>) => tell("fault", { fault: entry }),
    /** How far the real thing behind an address is, 0 to 1. */
    levels: async (controller: string, address: string) => (await stateOf(controller, address)).levels,
    /** What the register of an address really holds. */
    register: async (controller: string, address: string) => (await stateOf(controller, address)).value,
    /** All that it held, oldest first. */
    held: async (controller: string, address: string) => (await stateOf(controller, address)).held,
    codes: async () => (await view("controllers")) as readonly string[],
    posts: async () => (await view("posts")) as readonly Post[],
    /** Waits until it got this many more of an operation than now. */
    untilAsked: async (operation: string, more: number, timeoutMs?: number) =>
      untilTotal(operation, ((await requests())[operation] ?? 0) + more, timeoutMs),
  };
}

/** On a connection of its own: one kept open may be closed by the simulator at the moment it is used again. */
async function ask(url: string, body?: string): Promise<{ readonly status: number; readonly body: string }> {
  const asking = request(url, { agent: false, method: body === undefined ? "GET" : "POST" });
  asking.end(body);
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}
