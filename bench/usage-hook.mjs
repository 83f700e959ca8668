// Preload (`--import`): on SIGUSR2 and at its end a process writes its resource usage so far to the file BENCH_USAGE.
import { renameSync, writeFileSync } from "node:fs";

const file = process.env.BENCH_USAGE;
function tell() {
  const { user, system } = process.cpuUsage();
  writeFileSync(
    `${file}.new`,
    JSON.stringify({ cpu: (user + system) / 1e6, rss: process.memoryUsage().rss }),
  );
  renameSync(`${file}.new`, file);
}
process.on("SIGUSR2", tell);
process.on("exit", tell);
