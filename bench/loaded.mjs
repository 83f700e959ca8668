// A process that has loaded packages and does nothing else. Arguments: file of package names or module URLs, "stay" to
// keep running.
import { readFileSync } from "node:fs";

for (const module of readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean)) await import(module);
console.log("loaded");
if (process.argv[3] === "stay") setInterval(() => undefined, 1_000);
