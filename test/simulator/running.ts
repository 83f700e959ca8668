import { onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { startSimulator, type Simulator, type SimulatorOptions } from "../../src/simulator/simulator.js";
import { json, type Json } from "./asking.js";

/** A simulator on free ports that is closed when the test ends. */
export async function running(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ registerLagMs: 0, ...options }, systemClock);
  onTestFinished(() => simulator.close());
  return simulator;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: () => Json;
}

export async function call(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => json(text) };
}

export const bearer = { authorization: "Bearer t" };

export const post = (url: string, body: unknown, headers: Record<string, string> = bearer): Promise<Reply> =>
  call(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

/** The code of the system error a failed fetch ended with. */
export async function failureOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause instanceof Error && "code" in cause ? String(cause.code) : String(error);
  }
  return "none";
}
