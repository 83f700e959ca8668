import { PlatformError, type RawValue } from "../../src/greenhouse/ports.js";
import type { PlatformClient } from "../../src/platform/client.js";
import type { Bridge } from "./bridge.js";
import type { Read, Write } from "./history.js";
import type { World } from "./world.js";

type WriteAnswer = ReturnType<PlatformClient["write"]>;

/** The product's client as commands see it, with every read and write noted in the history. Polling goes past it. */
export function observed(world: World, bridge: Bridge, client: PlatformClient): PlatformClient {
  const { journalist, time } = world;
  const begin = (code: string, address: string, fresh: boolean): Read => {
    const read: Read = {
      ...{ boot: bridge.boot, code, address, fresh, begunAt: time.now, begunMono: bridge.clock.monotonic() },
      ...{ endedAt: null, raw: null, answered: false, isLie: false },
    };
    journalist.read(read);
    return read;
  };
  const end = (read: Read, raw: RawValue | null, isLie = false) =>
    Object.assign(read, { endedAt: time.now, answered: true, raw, isLie });
  return {
    ...client,
    value: async (code, address, fresh, signal) => {
      const read = begin(code, address, fresh);
      const raw = await client.value(code, address, fresh, signal);
      const isLie = raw !== null && world.isLie(read, raw);
      end(read, raw, isLie);
      journalist.note("read", { of: `${code}/${address}`, raw, ...(isLie ? { lie: true } : {}) });
      return raw;
    },
    connection: async (code, signal, pace) => {
      const read = begin(code, "", true);
      const connection = await client.connection(code, signal, pace);
      end(read, connection.state);
      return connection;
    },
    write: (code, address, value, signal, manner) =>
      observedWrite(world, bridge, { code, address, value }, () =>
        client.write(code, address, value, signal, manner),
      ),
  };
}

async function observedWrite(
  world: World,
  bridge: Bridge,
  what: Pick<Write, "code" | "address" | "value">,
  send: () => WriteAnswer,
): WriteAnswer {
  const { journalist, time, checks } = world;
  const write: Write = {
    ...{ ask: checks.sender(what.code, what.address), boot: bridge.boot, ...what, begunAt: time.now },
    ...{ endedAt: null, outcome: null, sent: false, bodyCode: null, wires: 0, arrived: null },
  };
  checks.posting(bridge, write);
  const isSame = (one: Write) => one.address === what.address && one.value === what.value;
  world.accidents.posting(write.ask?.writes.some(isSame) === true);
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
