// Preload (`--import`, with `--expose-gc`): on SIGUSR2 collects garbage and writes memoryUsage() to the file BENCH_MEMORY.
import { renameSync, writeFileSync } from "node:fs";

process.on("SIGUSR2", () => {
  globalThis.gc();
  globalThis.gc();
  const file = process.env.BENCH_MEMORY;
  writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()));
  renameSync(`${file}.new`, file);
});
