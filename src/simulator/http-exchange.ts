import type { ServerResponse } from "node:http";
import type { Clock } from "../runtime/clock.js";
import type { Decision } from "./call.js";

/** Lets a client feel a decision: an answer, a late one, a broken one or none. */
export async function perform(decision: Decision, response: ServerResponse, clock: Clock): Promise<void> {
  if (decision.delayMs === Infinity) return;
  if (decision.delayMs > 0 && !(await waited(decision.delayMs, response, clock))) return;
  if (decision.cut === null) answer(decision, response);
  else if (decision.cut === "during") answerHalf(decision, response);
  else response.socket?.resetAndDestroy();
}

export function answer(decision: Decision, response: ServerResponse): void {
  const body = Buffer.from(decision.body, "utf8");
  response.writeHead(decision.status, { ...decision.headers, "content-length": body.length });
  response.end(body);
}

function answerHalf(decision: Decision, response: ServerResponse): void {
  const body = Buffer.from(decision.body, "utf8");
  response.writeHead(decision.status, { ...decision.headers, "content-length": body.length });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => {
    response.socket?.destroy();
  });
}

async function waited(ms: number, response: ServerResponse, clock: Clock): Promise<boolean> {
  const gone = new AbortController();
  const stop = () => {
    gone.abort();
  };
  response.once("close", stop);
  try {
    await clock.wait(ms, gone.signal);
    return true;
  } catch {
    return false;
  } finally {
    response.off("close", stop);
  }
}
