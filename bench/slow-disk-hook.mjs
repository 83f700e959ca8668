// Preload (`--import`): a disk that works sequentially, and takes 5 ms for each write and each sync, also after idle
// time.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as wait } from "node:timers/promises";

const eachMs = 5;
const slow = ["write", "writev", "writeFile", "appendFile", "datasync", "sync", "truncate"];
let before = Promise.resolve();

function inTurn() {
  before = before.then(() => wait(eachMs));
  return before;
}

/** Runs `work` once the disk is free. */
const slowed =
  (work) =>
  async (...given) => {
    await inTurn();
    return work(...given);
  };

const { open, writeFile, appendFile, rename } = fs.promises;
Object.assign(fs.promises, {
  open: async (...given) => {
    const handle = await open(...given);
    for (const name of slow) handle[name] = slowed(handle[name].bind(handle));
    return handle;
  },
  writeFile: slowed(writeFile),
  appendFile: slowed(appendFile),
  rename: slowed(rename),
});

syncBuiltinESMExports();
