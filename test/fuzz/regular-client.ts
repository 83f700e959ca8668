import mqtt from "mqtt";

/* A client that behaves, and expects to be served whatever the others do. */

export interface RegularClient {
  /** Requests the bridge answered through the broker. */
  readonly served: number;
  readonly slowestMs: number;
  /** What went wrong for it. */
  readonly complaints: readonly string[];
  /** Topics it saw that nobody but the bridge may write, with what was not the bridge's. */
  readonly forgeries: readonly string[];
  stop(): Promise<void>;
}

const answerWithinMs = 15_000;
const request = "greenhouse/bridge/request/health";
const response = "greenhouse/bridge/response/health";

export async function regularClient(url: string, protocolVersion: 4 | 5): Promise<RegularClient> {
  const name = `regular-${protocolVersion}-${process.pid}`;
  const client = await mqtt.connectAsync(url, {
    protocolVersion,
    clientId: name,
    reconnectPeriod: 0,
    keepalive: 30,
  });
  const state = { served: 0, slowestMs: 0, stopped: false };
  const complaints: string[] = [];
  const forgeries: string[] = [];
  const answered = new Map<string, () => void>();
  client.on("close", () => {
    if (!state.stopped) complaints.push(`${name} was disconnected`);
  });
  client.on("error", (error) => complaints.push(`${name}: ${error.message}`));
  client.on("message", (topic, payload) => {
    if (topic === response) {
      const { transaction } = JSON.parse(payload.toString()) as { transaction?: unknown };
      if (typeof transaction === "string") answered.get(transaction)?.();
    } else if (!/^(greenhouse|homeassistant)\//.test(topic)) {
      if (!isResult(payload.toString())) forgeries.push(`${topic} ${payload.toString().slice(0, 200)}`);
    } else if (topic === "greenhouse/bridge/state" && payload.toString() !== "online")
      forgeries.push(`${topic} ${payload.toString()}`);
  });
  await client.subscribeAsync(["#", response], { qos: 1 });

  const ask = async (transaction: string) => {
    const askedAt = performance.now();
    const answer = new Promise<boolean>((resolve) => {
      const late = setTimeout(() => resolve(false), answerWithinMs);
      answered.set(transaction, () => {
        clearTimeout(late);
        resolve(true);
      });
    });
    // Not awaited: without a link it would never come back, and the answer is what counts.
    client.publish(request, JSON.stringify({ transaction }), { qos: 1 });
    if (await answer) state.served += 1;
    else complaints.push(`${name}: no answer within ${answerWithinMs} ms`);
    answered.delete(transaction);
    state.slowestMs = Math.max(state.slowestMs, performance.now() - askedAt);
  };
  const asking = (async () => {
    for (let n = 0; !state.stopped && complaints.length === 0; n += 1) {
      await ask(`${name}-${n}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })().catch((error: unknown) => complaints.push(`${name}: ${String(error)}`));

  return {
    get served() {
      return state.served;
    },
    get slowestMs() {
      return state.slowestMs;
    },
    complaints,
    forgeries,
    stop: async () => {
      state.stopped = true;
      await asking;
      await client.endAsync(true);
    },
  };
}

/** What the bridge answers on the response topic that a command names: any topic but those that mean something to it. */
function isResult(payload: string): boolean {
  try {
    const answer: unknown = JSON.parse(payload);
    return typeof answer === "object" && answer !== null && "outcome" in answer && "finished_at" in answer;
  } catch {
    return false;
  }
}
