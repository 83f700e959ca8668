import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";

const listening = `const server = require("node:net").createServer().listen(Number(process.argv[1]), process.argv[2], 1, () => {
  require("node:fs").writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/**
 * A port of this computer that never answers, like an address behind a dead route: its queue of connections is full.
 */
export async function silentPort(address: string, port = 0): Promise<number> {
  const child = spawn(process.execPath, ["-e", listening, String(port), address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  const found = Number(text.toString());
  const callers = Array.from({ length: 4 }, () => connect(found, address).on("error", () => undefined));
  onTestFinished(() => {
    for (const caller of callers) caller.destroy();
  });
  await Promise.all(callers.slice(0, 2).map((caller) => once(caller, "connect")));
  return found;
}
