import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isatty } from "node:tty";

/* Until it has a listener a signal kills the process, so everything else is loaded after these listeners. */

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (!stop.signal.aborted) stop.abort();
    else {
      // A second signal has to end the process in any case; `exit` would wait for whatever hangs.
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
}
// When a terminal closes, what was started in it ends. A service, which has no terminal, reloads its configuration.
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

// Neither the configuration nor any child process may see the token.
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
// One turn later a command that can reload has registered its listener.
setImmediate(() => {
  isLoading = false;
  if (isHungUp) hangUp();
});
const code = await ended;
process.exitCode = code;
// Work that hangs or was given up must not keep a finished program alive. A failed write is reported one turn later.
const end = () => void endProcess(process, exitCode(code));
process.stdout.write("", () => process.stderr.write("", () => setImmediate(end)));

/**
 * Lets Node 22 and later cache compiled code, in the cache directory of systemd or of the user. Without it a start
 * takes a little longer.
 */
function keepCompiled(): void {
  const enable: unknown = Reflect.get(module, "enableCompileCache");
  if (typeof enable !== "function" || process.env["NODE_COMPILE_CACHE"] !== undefined) return;
  try {
    const { CACHE_DIRECTORY, XDG_CACHE_HOME } = process.env;
    const folder = CACHE_DIRECTORY ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "greenhouse2mqtt");
    if (isAbsolute(folder)) Reflect.apply(enable, module, [folder]);
  } catch {
    // The user has no home directory.
  }
}
