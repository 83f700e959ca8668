import { joined, msg, row, type Text, textOf } from "../language/text.js";
import { nullIfFailed } from "../runtime/failures.js";
import { dirname, join, resolve } from "node:path";
import type { ConfigurationResult } from "../config/load.js";
import { systemClock } from "../runtime/clock.js";
import type { SettingNode, SettingsProposal } from "../page/protocol.js";
import { meant, noKey, pathOf } from "../settings/key.js";
import { isTextAt, schemaAt } from "../saving/schema-at.js";
import { type Changes, SettingsFile } from "../saving/settings-file.js";
import { schemaTree } from "../saving/schema-tree.js";
import { valueTyped } from "../saving/value-text.js";
import { type Path, problemText } from "../settings/problem.js";
import { NotAtSocket } from "../beside/own-socket.js";
import { firstLine, fleetProblem, loadedFile, overridden } from "../terminal/common.js";
import { askAtSocket } from "../terminal/running-bridge.js";
import { refusalText } from "./wording.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";

/* `config`: reads or changes one key of the configuration, with the code of the page's settings. */

interface ConfigOptions extends CommonOptions {
  readonly diff?: boolean;
}

/** The data directory; of a file with mistakes, its default place. */
const dataDirOf = (result: ConfigurationResult, options: CommonOptions): string =>
  result.ok
    ? overridden(result.configuration, options).data_dir
    : resolve(options.dataDir ?? result.dataDir ?? join(dirname(result.file), "data"));

export async function config(
  context: ProcessContext,
  action: "get" | "set" | "unset",
  key: string,
  value: string | undefined,
  options: ConfigOptions,
): Promise<void> {
  const path = pathOf(key);
  if (path === null) throw usageFailure(noKey(key));
  const loaded = await loadedFile(options, context.env);
  const ofFleet = loaded.ok || action === "get" ? null : await fleetProblem(options);
  if (ofFleet !== null) throw usageFailure(problemText(ofFleet));
  // A fleet's own file has other keys.
  if (!loaded.ok && options.account !== undefined && loaded.dataDir === undefined)
    throw usageFailure(joined(loaded.problems.map(problemText), "\n"));
  const settings = new SettingsFile({
    file: loaded.file,
    load: (reads) => loadedFile(options, context.env, reads),
    env: context.env,
    dataDir: () => dataDirOf(loaded, options),
    now: () => systemClock.now(),
  });
  if (action === "get") return get(context, settings, key, path);
  if (action === "set" && value === undefined)
    throw usageFailure(msg`config set needs a value behind the key`);
  if (action === "unset" && value !== undefined) throw usageFailure(msg`config unset takes only a key`);
  const typed = value === "-" ? await firstLine(process.stdin, context.stop) : value;
  const wanted = action === "unset" ? null : valueTyped(typed ?? "", isTextAt(path));
  await change(context, settings, { [key]: wanted }, { loaded, options });
}

async function get(context: ProcessContext, settings: SettingsFile, key: string, path: Path): Promise<void> {
  const { given } = await settings.settings().catch((error: unknown) => {
    throw usageFailure(msg`${settings.file} cannot be read: ${textOf(error)}`);
  });
  const below = Object.entries(given).filter(
    ([name]) => name === key || name.startsWith(`${key}.`) || name.startsWith(`${key}[`),
  );
  for (const [name, { value, from, name: reference }] of below) {
    const isReference = from !== "file" && value === undefined;
    const shown = isReference
      ? `!${from === "secret" ? "secret" : "env"} ${reference ?? ""}`
      : String(value ?? "[hidden]");
    context.out(name === key ? `${shown}\n` : `${name}: ${shown}\n`);
  }
  if (below.length > 0) return;
  if (schemaAt(path) === null) throw usageFailure(msg`${key} is no key of the configuration${nearKey(path)}`);
  const node = nodeAt(path);
  if (node?.default === undefined) {
    context.err.write(`${context.speech.tell(msg`${key} is not set`)}\n`);
    return;
  }
  const { default: usual } = node;
  context.out(`${typeof usual === "string" ? usual : JSON.stringify(usual)}\n`);
  context.err.write(`${context.speech.tell(msg`(the default; the file does not set it)`)}\n`);
}

function nodeAt(path: Path): SettingNode | undefined {
  let keys: readonly SettingNode[] = schemaTree();
  let node: SettingNode | undefined;
  for (const part of path) {
    const entry: SettingNode | undefined = node?.entry;
    node = entry ?? keys.find(({ name }) => name === part);
    keys = node?.keys ?? [];
  }
  return node;
}

function nearKey(path: Path): Text {
  const last = path.at(-1);
  const keys = path.length === 1 ? schemaTree() : (nodeAt(path.slice(0, -1))?.keys ?? []);
  return typeof last === "string"
    ? meant(
        last,
        keys.map(({ name }) => name),
      )
    : "";
}

async function change(
  context: ProcessContext,
  settings: SettingsFile,
  changes: Changes,
  { loaded, options }: { readonly loaded: ConfigurationResult; readonly options: ConfigOptions },
): Promise<void> {
  const { out, speech } = context;
  const say = (text: Text) => out(`${speech.tell(text)}\n`);
  const failure = (error: unknown) => usageFailure(textOf(error));
  if (options.diff === true) {
    const proposal = await settings.propose({ changes }, { tell: speech.tell }).catch((error: unknown) => {
      throw failure(error);
    });
    refuseErrors(proposal);
    if (proposal.difference !== "") out(proposal.difference);
    sayWhatElse(proposal, say);
    return;
  }
  const place = { data_dir: dataDirOf(loaded, options) };
  const byBridge = await savedByBridge(context, settings, changes, place);
  if (byBridge !== null) {
    refuseErrors(byBridge);
    if (byBridge.difference !== "") out(byBridge.difference);
    sayWhatElse(byBridge, say);
    if (byBridge.keys.length + byBridge.secrets.length > 0) say(msg`saved; the running bridge uses it now`);
    return;
  }
  const saved = await settings.save({ changes }, null, { tell: speech.tell }).catch((error: unknown) => {
    throw failure(error);
  });
  if (!saved.saved && saved.why === "not_writable") throw new CommandFailure(saved.message);
  refuseErrors(saved.proposal);
  if (!saved.saved)
    throw usageFailure(msg`${settings.file} was changed by somebody else meanwhile; try again`);
  if (saved.proposal.difference !== "") out(saved.proposal.difference);
  sayWhatElse(saved.proposal, say);
  if (loaded.ok && saved.proposal.keys.length + saved.proposal.secrets.length > 0)
    say(await takenUp(context, place));
}

type ToldProposal = Pick<
  SettingsProposal,
  "errors" | "difference" | "keys" | "secrets" | "warnings" | "sentences"
>;

/**
 * Lets the bridge that runs with this file save, as it takes the change back if it does not come up; null if none can.
 */
async function savedByBridge(
  { speech, stop }: ProcessContext,
  settings: SettingsFile,
  changes: Changes,
  place: { readonly data_dir: string },
): Promise<ToldProposal | null> {
  const answer = await askAtSocket(
    place,
    async (ask) => {
      const { etag } = await settings.settings();
      const { document } = await ask("/api/settings");
      return document["etag"] === etag
        ? ask("/api/settings", { changes, etag, language: speech.language })
        : null;
    },
    stop,
  ).catch(nullIfFailed);
  if (answer === null || answer instanceof NotAtSocket) return null;
  const isTold = answer.status === 200 || answer.status === 422;
  return isTold ? (answer.document as unknown as ToldProposal) : null;
}

function refuseErrors({ errors }: Pick<SettingsProposal, "errors">): void {
  const lines = Object.entries(errors).flatMap(([key, messages]) =>
    messages.map((one) => row`${key}: ${one}`),
  );
  if (lines.length > 0) throw usageFailure(joined(lines, "\n"));
}

function sayWhatElse(
  { keys, secrets, difference, warnings, sentences }: ToldProposal,
  say: (text: Text) => void,
): void {
  if (keys.length === 0 && difference === "" && secrets.length === 0) say(msg`nothing changes`);
  if (secrets.length > 0) say(msg`in secrets.yaml: ${secrets.join(", ")}`);
  for (const warning of warnings) say(warning);
  for (const sentence of sentences) say(sentence);
}

/** Tells a running bridge at its socket to take up the file. */
async function takenUp(context: ProcessContext, place: { readonly data_dir: string }): Promise<Text> {
  const answer = await askAtSocket(place, (ask) => ask("/api/settings/take", {}), context.stop).catch(
    nullIfFailed,
  );
  if (answer instanceof NotAtSocket && answer.holder === null) return msg`saved; no bridge is running`;
  if (answer === null || answer instanceof NotAtSocket)
    return msg`saved; the running bridge was not reached: send it a SIGHUP, or restart it`;
  return answer.status < 300
    ? msg`saved; the running bridge uses it now`
    : msg`saved, but the running bridge does not use it: ${refusalText(answer.document)}`;
}
