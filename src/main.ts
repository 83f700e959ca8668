import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isatty } from "node:tty";

/* A signal kills the process until it has a listener, so all else is loaded after these. */

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (!stop.signal.aborted) stop.abort();
    else {
      // Nothing more than that ends it in any case: `exit` would wait for what hangs.
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
}
// A terminal that is closed ends what was started in it, and is none any more; a service reads its configuration again.
const endsWithTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
let reload: (() => void) | null = null;
let isLoading = true;
let isHungUp = false;
const hangUp = () => {
  if (isLoading) isHungUp = true;
  else if (reload === null || endsWithTerminal) stop.abort();
  else reload();
};
process.on("SIGHUP", hangUp);

keepCompiled();

// No configuration, and nobody that this starts, gets to see it.
const { SUPERVISOR_TOKEN: token = "", SUPERVISOR_URL: url = "http://supervisor" } = process.env;
delete process.env["SUPERVISOR_TOKEN"];
const supervisor = token === "" ? null : { url, token };

const { endProcess, endUncaught, guardStreams, runProgram, toBeStartedAgain } =
  await import("./cli/program.js");
const { out, draw, err, outputEnded, exitCode } = guardStreams(process.stdout, process.stderr);
endUncaught(process, err);
const ended = runProgram(process.argv, {
  env: process.env,
  out,
  draw,
  err,
  isTerminal: process.stdout.isTTY,
  stop: stop.signal,
  outputEnded,
  restart: () => stop.abort(toBeStartedAgain),
  supervisor,
  onReload: (listener) => {
    reload = listener;
  },
});
// By its next turn a command that reloads has said so.
setImmediate(() => {
  isLoading = false;
  if (isHungUp) hangUp();
});
const code = await ended;
process.exitCode = code;
// What was given up, or hangs, may go on in the background: it must not hold a program that has said its last word. Whether that could
// be written is told a turn later.
const end = () => void endProcess(process, exitCode(code));
process.stdout.write("", () => process.stderr.write("", () => setImmediate(end)));

/**
 * Node 22 and later can keep what they have compiled, below the user's folder for such things or the one that systemd made
 * for the service. Where that cannot be, a start takes a little longer.
 */
function keepCompiled(): void {
  const enable: unknown = Reflect.get(module, "enableCompileCache");
  if (typeof enable !== "function" || process.env["NODE_COMPILE_CACHE"] !== undefined) return;
  try {
    const { CACHE_DIRECTORY, XDG_CACHE_HOME } = process.env;
    const folder = CACHE_DIRECTORY ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "greenhouse2mqtt");
    if (isAbsolute(folder)) Reflect.apply(enable, module, [folder]);
  } catch {
    // A user without a home.
  }
}
