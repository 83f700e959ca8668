import { expect, it } from "vitest";
import { restoreCommands } from "../../src/commands/restore.js";
import { nodeFileSystem } from "../../src/runtime/file-system.js";
import { silentLog } from "../../src/runtime/log.js";
import { bench, historyOf, valve } from "./bench.js";

/* A clock that is set while a start reads the journal, as on a computer without one of its own that has just found a time server. */

it("a lease ends by the clock as it is when it is taken up, also where that is set while the journal is read", async () => {
  const one = await bench({ actuators: [valve()], registers: { "210": "1010" } });
  const { clock, engine, commander, store } = one;
  const newestAt = clock.now() - 1_000;
  const lease = { id: "x", by: null, command: "on", ends_with: "off", until: newestAt + 600_000 };
  const history = historyOf("valve", { lease });
  const files = {
    ...nodeFileSystem,
    list: () => {
      clock.setWall(newestAt + 7_200_000);
      return Promise.resolve([]);
    },
  };
  const ignored = () => undefined;
  await restoreCommands(
    {
      ...{ commander, leaveDeliveryMarks: ignored, isRecorded: ignored, restoreResult: ignored },
      phases: { overtaken: ignored },
      endedBefore: ignored,
      limits: { restore: () => engine.limitsLeft(history, newestAt).limits },
    },
    {
      journal: { directory: "/nowhere", files, newestAt, readProblem: null, history: () => history },
      ...{ store, clock, log: silentLog, onUnreadable: ignored },
    },
  );
  await clock.advance(30_000);
  expect(one.values()).toEqual(["210=1001"]);
});
