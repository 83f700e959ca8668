// Loaded before the fleet of (p): while a file of that name is in the folder of the fleet, the disk of the account
// `full` is full, and the account `crash` meets an uncaught error.
import { AsyncResource } from "node:async_hooks";
import { existsSync } from "node:fs";
import * as promises from "node:fs/promises";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const folder = process.env.BENCH_FAULTS;
const dataOf = (account) => join(folder, "data", account);
const state = { full: false, crash: false, fail: null };

const noSpace = () => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
const { open } = promises;
fs.promises.open = async (path, ...rest) => {
  const file = String(path);
  // Created and thrown in the async context of the account.
  if (file.startsWith(dataOf("crash")))
    state.fail = AsyncResource.bind(() =>
      setTimeout(() => {
        throw new Error("a defect");
      }, 0),
    );
  const handle = await open(path, ...rest);
  if (!file.startsWith(dataOf("full"))) return handle;
  for (const name of ["write", "writev", "writeFile", "appendFile", "datasync", "sync"]) {
    const original = handle[name].bind(handle);
    handle[name] = (...given) => (state.full ? Promise.reject(noSpace()) : original(...given));
  }
  return handle;
};
syncBuiltinESMExports();

setInterval(() => {
  state.full = existsSync(join(folder, "full"));
  state.crash = existsSync(join(folder, "crash"));
  if (!state.crash || state.fail === null) return;
  const { fail } = state;
  state.fail = null;
  fail();
}, 500).unref();
