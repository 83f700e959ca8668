import { isLanguage } from "../../greenhouse/labels.js";
import { anyOf } from "../../runtime/signals.js";
import { msg, type Text, textOf } from "../../language/text.js";
import { features } from "../../config/features.js";
import { dirname } from "node:path";
import type { Configuration } from "../../config/schema.js";
import { systemClock, systemRandom } from "../../runtime/clock.js";
import { createLogger } from "../../runtime/log.js";
import { isLoopback } from "../../runtime/sockets.js";
import { callOf } from "./init.js";
import { usualBrokers } from "./questions.js";
import { webSteps } from "./web-steps.js";
import { loadConfiguration } from "../../config/load.js";
import { restoreFrom } from "../../backup/command.js";
import { refuseToOverwrite } from "../../terminal/common.js";
import { usageFailure } from "../../runtime/ending.js";
import { refuseHostName } from "../../terminal/usage.js";
import {
  type CommonOptions,
  endOfUse,
  programVersion,
  type ProcessContext,
  screenOf,
} from "../../terminal/context.js";

/** The bridge's page will use this port too; if it is taken, the page could not have it either. */
const usualPort = 8099;
/** Time for the browser to get the last answer before its server ends. */
const lastAnswerMs = 500;

type Say = (text: Text) => void;

interface Written {
  /** The command that runs the bridge. */
  readonly call: string;
  /** Null if something has to be done first. */
  readonly configuration: Configuration | null;
  readonly lines: readonly string[];
}

/**
 * `greenhouse2mqtt init --web`: asks in a browser of this computer, or of one that reaches `--host`, and ends once the
 * files are written.
 */
export async function initWeb(
  context: ProcessContext,
  { config, dataDir, host = "127.0.0.1" }: CommonOptions & { readonly host?: string },
): Promise<void> {
  refuseHostName(host);
  refuseToOverwrite(config, msg`move it away, or name another file with -c`);
  const { env, out, speech } = context;
  const over = new AbortController();
  const stop = anyOf(endOfUse(context), over.signal);
  const log = createLogger({ level: "info", format: "auto", secrets: () => [] }, screenOf(context));
  const say = (text: Text) => out(`${speech.tell(text)}\n`);
  const { serveSetup, setupOf } = await features.http.setup();
  const { code, faults } = setupOf(log, systemClock);
  const { addressOf, sshHint } = await features.http.pageAddress();
  const at: { port: number; written: Written | null } = { port: usualPort, written: null };
  const onDone = (call: string, configuration: Configuration | null, lines: readonly string[] = []) => {
    at.written = { call, configuration, lines };
    void systemClock.wait(lastAnswerMs).then(() => over.abort());
  };
  const port = () => (at.port === usualPort ? null : at.port);
  const world = { clock: systemClock, random: systemRandom, env, stop, say, dataDir, speech };
  const writtenBy = `greenhouse2mqtt ${programVersion()}`;
  const steps = webSteps(config, { ...world, brokers: usualBrokers, writtenBy, port, onDone, pageAddress });
  const onListening = (listensAt: number) => {
    at.port = listensAt;
    const hint = sshHint({ host }, listensAt, env);
    for (const line of invitation(host, addressOf(host, listensAt), code.text, hint)) say(line);
  };
  const restore = (bytes: Uint8Array, password: string | null, language: string) =>
    restoredHere({ bytes, password, language }, { config, dataDir }, context, onDone);
  await serveSetup(usualPort, { host, code, steps, restore, faults, onListening }, stop).catch(
    (error: unknown) => {
      throw usageFailure(msg`${host} cannot be listened at: ${String(error)}`);
    },
  );
  if (at.written === null) return;
  for (const line of at.written.lines) out(`${line}\n`);
  say(msg`Now run  ${at.written.call}`);
  if (at.written.configuration !== null) await sayPage(context, at.written.configuration, say);
}

interface Uploaded {
  readonly bytes: Uint8Array;
  readonly password: string | null;
  readonly language: string;
}

/** Restores a backup instead of asking questions. */
export async function restoredHere(
  { bytes, password, language }: Uploaded,
  options: Pick<CommonOptions, "config" | "dataDir">,
  context: ProcessContext,
  onDone: (call: string, configuration: Configuration | null, lines: readonly string[]) => void,
) {
  const { speech, env } = context;
  await speech.choose(isLanguage(language) ? language : "en");
  const {
    file,
    of,
    runsBy,
    lines: said,
  } = await restoreFrom(bytes, password, options, context).catch((error: unknown) => {
    throw new Error(speech.tell(textOf(error)));
  });
  const lines = said.map((line) => speech.tell(line));
  const [program, flag] = await callOf(runsBy, { data_dir: dirname(runsBy) });
  // An account has a data directory of its own, not the fleet's.
  const folder = options.dataDir === undefined || of === "account" ? [] : ["--data-dir", options.dataDir];
  const result = of === "bridge" ? await loadConfiguration(file, { env }) : null;
  const configuration = result?.ok === true ? result.configuration : null;
  const what = of === "bridge" ? `run${flag}` : `fleet -c ${runsBy}`;
  onDone([`${program} ${what}`, ...folder].join(" "), configuration, lines);
  const found = configuration === null ? null : await pageAddress(configuration);
  return { file, lines, page: found?.page ?? null, qr: found?.qr ?? null };
}

/** Says where the questions are asked, and the code that opens them. */
const invitation = (host: string, url: string, code: string, hint: Text | null): readonly Text[] => [
  isLoopback(host)
    ? msg`Open  ${url}  in a browser of this computer; the code is  ${code}`
    : msg`Open  ${url}  in any browser of this network; the code is  ${code}`,
  ...(hint === null ? [] : [hint]),
];

/** The address of the bridge's future page. */
async function pageAddress({ http }: Configuration) {
  const { pageAddressFor, qrPictureOf } = await features.http.pageAddress();
  const found = http === false ? null : pageAddressFor(http, http.port);
  return found && http ? { page: found.url, qr: await qrPictureOf(http, http.port) } : null;
}

/** Prints where phones will find the page, with its QR code on a terminal. */
export async function sayPage(
  { out, isTerminal }: Pick<ProcessContext, "out" | "isTerminal">,
  { http }: Configuration,
  say: Say,
): Promise<void> {
  const { addressOf, qrOf } = await features.http.pageAddress();
  const picture = http === false ? null : await qrOf(http, http.port);
  if (http === false || picture === null) return;
  say(
    msg`While the bridge runs its page is at ${addressOf(http.host, http.port)}, for phones in this network too.`,
  );
  if (isTerminal) out(`${picture}\n`);
}
