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
  untilAsked(operation: string, more: number, timeoutMs: number): Promise<void>;
  posts(): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export async function platformOf(program: Program): Promise<SimulatedPlatform> {
  const [, url = ""] = await program.untilPrinted(/business_url: (\S+)/, 20_000);
  const view = async (name: string): Promise<unknown> => (await fetch(`${url}/_simulator/${name}`)).json();
  const requests = async () => (await view("requests")) as Readonly<Record<string, number>>;
  return {
    url,
    program,
    requests,
    tell: async (what, fields = {}) => {
      const body = JSON.stringify({ do: what, ...fields });
      const response = await fetch(`${url}/_simulator/control`, { method: "POST", body });
      if (!response.ok) throw new Error(`the simulator refused ${body}: ${await response.text()}`);
    },
    codes: async () => (await view("controllers")) as readonly string[],
    posts: async () => (await view("posts")) as readonly Readonly<Record<string, unknown>>[],
    untilAsked: async (operation, more, timeoutMs) => {
      const wanted = ((await requests())[operation] ?? 0) + more;
      const end = performance.now() + timeoutMs;
      while (((await requests())[operation] ?? 0) < wanted) {
        if (performance.now() > end) throw new Error(`not ${more} more requests of ${operation} in time`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  };
}
