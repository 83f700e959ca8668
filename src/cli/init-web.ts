import { isIP } from "node:net";
import type { Configuration } from "../config/schema.js";
import { addressOf, entranceTo, qrOf, qrPictureOf, sshHint } from "../http/entrance.js";
import { Faults } from "../http/faults.js";
import { OneTimeCode } from "../http/first-operator.js";
import { serveSetup } from "../http/setup-site.js";
import { systemClock, systemRandom } from "../runtime/clock.js";
import { createLogger } from "../runtime/log.js";
import { isLoopback } from "../runtime/sockets.js";
import { usualBrokers } from "../setup/init/questions.js";
import { webSteps } from "../setup/init/web-steps.js";
import { refuseToOverwrite } from "./common.js";
import {
  CommandFailure,
  type CommonOptions,
  endOfUse,
  exitCodes,
  programVersion,
  type ProcessContext,
  screenOf,
} from "./context.js";

/** Where the page of the bridge will be, too. */
const usualPort = 8099;
/** The browser gets the last answer before its server goes. */
const lastAnswerMs = 500;

type Say = (text: string) => void;

interface Written {
  /** What runs the bridge. */
  readonly call: string;
  readonly configuration: Configuration;
}

/** `greenhouse2mqtt init --web`: asks in a browser of this computer, or of one that reaches `--host`, and ends once the files are written. */
export async function initWeb(
  context: ProcessContext,
  { config, dataDir, host = "127.0.0.1" }: CommonOptions & { readonly host?: string },
): Promise<void> {
  if (isIP(host) === 0)
    throw new CommandFailure(
      "--host: expected an IP address, such as 0.0.0.0 for every address of this computer",
      exitCodes.usage,
    );
  refuseToOverwrite(config, "move it away, or name another file with -c");
  const { env, out, speech } = context;
  const code = new OneTimeCode();
  const over = new AbortController();
  const stop = AbortSignal.any([endOfUse(context), over.signal]);
  const log = createLogger({ level: "info", format: "auto", secrets: () => [] }, screenOf(context));
  const say = (text: string) => out(`${speech.tell(text)}\n`);
  const at: { port: number; written: Written | null } = { port: usualPort, written: null };
  const onDone = (call: string, configuration: Configuration) => {
    at.written = { call, configuration };
    void systemClock.wait(lastAnswerMs).then(() => over.abort());
  };
  // Where the usual port is taken the bridge could not have it either.
  const port = () => (at.port === usualPort ? null : at.port);
  const world = { clock: systemClock, random: systemRandom, env, stop, say, dataDir, speech };
  const brokers = { brokers: usualBrokers, writtenBy: `greenhouse2mqtt ${programVersion()}` };
  const steps = webSteps(config, { ...world, ...brokers, port, onDone, entrance });
  const onListening = (listensAt: number) => {
    at.port = listensAt;
    for (const line of invitation(host, listensAt, code.text, env)) say(line);
  };
  const site = { host, code, steps, faults: new Faults(log, systemClock), onListening };
  await serveSetup(usualPort, site, stop).catch((error: unknown) => {
    throw new CommandFailure(`${host} cannot be listened at: ${String(error)}`, exitCodes.usage);
  });
  if (at.written === null) return;
  say(`Now run  ${at.written.call}`);
  await sayPage(context, at.written.configuration, say);
}

/** Where the questions are asked, and the code that opens them. */
function invitation(host: string, port: number, code: string, env: ProcessContext["env"]): readonly string[] {
  const url = addressOf(host, port);
  const hint = sshHint({ host }, port, env);
  const line = isLoopback(host)
    ? `Open  ${url}  in a browser of this computer; the code is  ${code}`
    : `Open  ${url}  in any browser of this network; the code is  ${code}`;
  return [line, ...(hint === null ? [] : [hint])];
}

/** Where the bridge's page will be. */
async function entrance({ http }: Configuration) {
  const found = http === false ? null : entranceTo(http, http.port);
  return found && http ? { page: found.url, qr: await qrPictureOf(http, http.port) } : null;
}

/** Where the page will be for a phone, and its address for the phone's camera. */
export async function sayPage(
  { out, isTerminal }: Pick<ProcessContext, "out" | "isTerminal">,
  { http }: Configuration,
  say: Say,
): Promise<void> {
  const picture = http === false ? null : await qrOf(http, http.port);
  if (http === false || picture === null) return;
  say(
    `While the bridge runs its page is at ${addressOf(http.host, http.port)}, for phones in this network too.`,
  );
  if (isTerminal) out(`${picture}\n`);
}
