// A data directory whose journal holds that many MiB of past commands, written by the program's own modules.
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { newFile } from "./processes.mjs";
import { modules } from "./setup.mjs";

const module = (path) => import(pathToFileURL(`${modules}/${path}`).href);
const silent = { error() {}, warn() {}, info() {}, debug() {}, trace() {}, fatal() {} };

const about = { controller: "GH-00001", actuator: "a101" };
const step = { purpose: "value", address: "101", value: "1010" };

/** The records of a confirmed command. */
function recordsOf(nth, at) {
  const id = `past-${nth}`;
  const command = { command: "on", value: "1010", by: "bench", via: null, received_at: at };
  return [
    {
      type: "command_taken",
      ...about,
      id,
      ...command,
      steps: [step],
      payload_hash: "5f2b",
      max_age_ms: 60_000,
    },
    { type: "step_sent", ...about, id, ...step, attempt: 1 },
    {
      type: "result",
      ...about,
      result: {
        ...{ id, ...about, ...command, outcome: "confirmed", reason: null, message: null, request_id: null },
        steps: [{ ...step, attempts: 1, code: "200", read_back: "1010" }],
        ...{
          read_back: "1010",
          sent_at: at,
          finished_at: at,
          duration_ms: 5_000,
          repeated: false,
          interlock: null,
        },
      },
    },
  ];
}

/** Returns the folder. The records are from the last hour, so that none is too old to be kept. */
export async function filledJournal(mib) {
  const [{ openJournal }, { systemClock }] = [
    await module("journal/open.js"),
    await module("runtime/clock.js"),
  ];
  const dataDir = newFile("data");
  mkdirSync(dataDir);
  const { journal, close } = await openJournal({ dataDir, clock: systemClock, log: silent });
  const began = Date.now() - 3_600_000;
  let bytes = 0;
  for (let nth = 0; bytes < mib << 20; nth += 1) {
    const at = new Date(began + nth).toISOString();
    const records = recordsOf(nth, at);
    const written = records.map((record) => journal.append(record, { durable: false }));
    // Estimates number, times, run and checksum of each.
    bytes += records.reduce((sum, record) => sum + JSON.stringify(record).length + 150, 0);
    if (nth % 500 === 0) await Promise.all(written);
  }
  await close();
  return dataDir;
}
