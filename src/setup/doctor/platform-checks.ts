import { anyOf } from "../../runtime/signals.js";
import { clauses } from "../../language/lists.js";
import { changed, counted, msg, type Text, textOf, word } from "../../language/text.js";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, open, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlatformError, type PushChannel, type Query } from "../../greenhouse/ports.js";
import { accountCost } from "../../config/warnings.js";
import { diskRemedies } from "../../journal/journal.js";
import { holderOf } from "../../journal/lock.js";
import { journalDirectory } from "../../journal/open.js";
import { newestRecords, readHistory } from "../../journal/reader.js";
import { createPlatform } from "../../platform/client.js";
import { isDeviceCode, isPlainCode } from "../../platform/operations.js";
import type { ShapeReport } from "../../platform/counters.js";
import type { PlatformSettings } from "../../platform/settings.js";
import { errorCode, isForbidden } from "../../runtime/file-system.js";
import { silentLog } from "../../runtime/log.js";
import { failed, notTried, ok, type Verdict, warning, within } from "./finding.js";
import { durationText } from "./network-checks.js";
import { ask, type Check, type DoctorContext, type RawAnswer } from "./context.js";
import { devicesIn } from "./shape-suggestion.js";
import { commentText } from "../../saving/yaml-text.js";

/**
 * The parts of a sentence before and after its first semicolon, in every language; null without one. `quoted` may
 * contain semicolons of its own.
 */
function halvesOf(text: Text, quoted = ""): readonly [what: Text, remedy: Text] | null {
  const cutIn = (said: string) => {
    const from = Math.max(0, said.indexOf(quoted)) + quoted.length;
    const { index = said.length, 0: mark = "" } = /; |；/.exec(said.slice(from)) ?? {};
    return mark === "" ? null : { at: from + index, end: from + index + mark.length };
  };
  if (cutIn(String(text)) === null) return null;
  return [
    changed(text, (said) => said.slice(0, cutIn(said)?.at)),
    changed(text, (said) => said.slice(cutIn(said)?.end ?? said.length)),
  ];
}

/**
 * A PlatformError as a verdict: its message says what happened and, behind the first semicolon, what to do. Null for
 * other errors.
 */
export function platformVerdict(error: unknown): Verdict | null {
  if (!(error instanceof PlatformError)) return null;
  const { platformMessage, requestId, code } = error.facts;
  const quoted = platformMessage === undefined ? "" : JSON.stringify(platformMessage);
  const [summary, remedy] = halvesOf(error.text, quoted) ?? [error.text, askAgain];
  const foreign = [quoted.slice(1, -1), requestId ?? "", code !== undefined && code.length > 6 ? code : ""];
  return { status: "failed", summary, remedy, foreign: foreign.filter((text) => text !== "") };
}

const askAgain = msg`ask again in a minute; if it stays so, show the line to the operator of the platform`;

/** A code that no device has; the answer is that of a device that is offline. */
const nobody = "doctor";

export const platformChecks: readonly Check[] = [
  { id: "token", needs: ["business.tls"], run: tokenVerdict },
  { id: "realtime", needs: ["realtime.tls"], run: realtimeVerdict },
  { id: "requests", needs: ["token"], run: (context) => Promise.resolve(requestsVerdict(context)) },
];

async function tokenVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const answer = await askedOrVerdict(context, "control/mqtt", {}, signal);
  if ("status" in answer) return answer;
  return listVerdict(context, answer);
}

/** An unknown code may mean that the token is refused. */
function unknownRefusal(error: unknown, { configuration }: DoctorContext): Partial<Verdict> {
  if (!(error instanceof PlatformError) || error.facts.kind !== "rejected") return {};
  const { code } = error.facts;
  if (code === undefined || code === "200") return {};
  const { sign_in: signIn, token_file: file } = configuration.platform;
  if (signIn !== undefined)
    return {
      remedy: msg`if code ${code} means a refused token, write platform.sign_in.refused_codes: [${code}]`,
    };
  const key = file === undefined ? "platform.token" : "platform.token_file";
  return { remedy: msg`if code ${code} means a refused token, put a new one into ${key}` };
}

function listVerdict(context: DoctorContext, answer: RawAnswer): Verdict {
  const controllers = devicesIn(answer, context.configuration.platform.shapes);
  context.evidence.controllers = controllers;
  const { length } = controllers;
  if (length === 0)
    return warning(
      msg`the business host accepts the token, but lists no controllers`,
      msg`check that this account owns controllers; if it does, see "shapes.control/mqtt" below`,
    );
  const online = controllers.filter((controller) => controller.online === true).length;
  return ok(
    msg`the business host accepts the token and lists ${counted(length, "controller", "controllers")}, ${online} online`,
  );
}

async function realtimeVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const deviceCode = sampleControllers(context)[0]?.code ?? nobody;
  const answer = await askedOrVerdict(context, "mqtt-client-status", { deviceCode }, signal);
  return "status" in answer ? answer : ok(msg`the realtime host answers`);
}

/** Says what polling this account costs. */
function requestsVerdict({ configuration, evidence }: DoctorContext): Verdict {
  const { requests_per_minute } = configuration.platform;
  const codes = evidence.controllers.map(({ code }) => code);
  const calls = accountCost(configuration, codes);
  const budget = requests_per_minute * 60;
  const costs = msg`polling this account takes ${calls} requests an hour`;
  if (budget === 0) return ok(costs);
  if (calls <= budget) return ok(msg`${costs} of the budget of ${budget}`);
  return warning(
    msg`${costs}, and the budget is ${budget}: all intervals will be stretched`,
    msg`raise platform.requests_per_minute if the platform allows it, lengthen the intervals under polling, or name what is not needed with ignore`,
  );
}

const askedOrVerdict = (context: DoctorContext, operation: string, query: Query, signal: AbortSignal) =>
  ask(context, operation, query, signal).catch((error: unknown) => wrongHostVerdict(error, context, signal));

/** Controllers worth reading: online ones first, and one of each type before a second of any. */
export function sampleControllers({ evidence }: DoctorContext, most = 3) {
  const ordered = evidence.controllers
    .filter(({ code }) => isDeviceCode(code))
    .sort((one, other) => Number(other.online === true) - Number(one.online === true));
  const firsts = new Map(ordered.toReversed().map((controller) => [controller.type, controller]));
  return [...new Set([...ordered.filter((one) => firsts.get(one.type) === one), ...ordered])].slice(0, most);
}

/** Errors that swapped hosts may explain. */
const answered: ReadonlySet<string> = new Set(["server", "protocol", "rejected", "unauthorized"]);

/** After a refusal that a swapped host would give too, tries the hosts the other way round. */
async function wrongHostVerdict(
  error: unknown,
  context: DoctorContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const told = platformVerdict(error);
  if (told === null || !(error instanceof PlatformError)) throw error;
  const verdict = { ...told, ...unknownRefusal(error, context) };
  const { business_url, realtime_url } = context.configuration.platform;
  const isSuspect = business_url !== realtime_url && answered.has(error.facts.kind);
  // Both hosts get the same credential anyway, so asking each the other's question reveals nothing.
  if (!isSuspect || !(await (context.evidence.swapped ??= areSwapped(context, signal)))) return verdict;
  return failed(
    msg`the two hosts are swapped: each answers what the other one is asked for`,
    msg`exchange platform.business_url and platform.realtime_url`,
  );
}

/** With swapped hosts, neither answers worse and one answers better. */
async function areSwapped(context: DoctorContext, signal: AbortSignal): Promise<boolean> {
  const { business_url, realtime_url } = context.configuration.platform;
  const own = await knowledgeOf(context, { business_url, realtime_url }, signal);
  const other = await knowledgeOf(
    context,
    { business_url: realtime_url, realtime_url: business_url },
    signal,
  );
  const gains = other.map((knows, at) => knows - (own[at] ?? 0));
  return Math.min(...gains) >= 0 && Math.max(...gains) > 0;
}

/** How well each host answers a question of its own. */
async function knowledgeOf(
  { configuration, ports }: DoctorContext,
  hosts: Pick<PlatformSettings, "business_url" | "realtime_url">,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const { sign_in: signIn, ...settings } = configuration.platform;
  // Signing in has its own pace and a saved token for each business host; without it a swap shows as well.
  const credential = signIn === undefined ? {} : { token: "none" };
  const platform = createPlatform(
    { ...settings, ...credential, ...hosts },
    { ...ports, log: silentLog, dataDir: configuration.data_dir },
  );
  try {
    return await Promise.all([
      knowledge(platform.controllers(signal)),
      knowledge(platform.connection(nobody, signal)),
    ]);
  } finally {
    await platform.close();
  }
}

/** 2 for an answer; 1 for a refused token, which a host may say to any unknown question; else 0. */
const knowledge = (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 2,
    (error: unknown) => (error instanceof PlatformError && error.facts.kind === "unauthorized" ? 1 : 0),
  );

/** The journal alone may take 50 MB. */
const enoughBytes = 100 * 1024 * 1024;

export const dataChecks: readonly Check[] = [
  { id: "data_dir", needs: [], run: directoryVerdict },
  { id: "lock", needs: [], run: lockVerdict },
  { id: "last_run", needs: ["data_dir"], run: lastRunVerdict },
];

async function directoryVerdict({ configuration }: DoctorContext): Promise<Verdict> {
  const directory = configuration.data_dir;
  try {
    const existing = await nearest(directory);
    if (existing === directory) await writeAndRemove(directory);
    else await access(existing, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(existing);
    const free = bavail * bsize;
    if (free < enoughBytes)
      return warning(
        msg`${directory} has only ${Math.round(free / 1_048_576)} MB left; the journal may take 50`,
        msg`make room on that disk`,
      );
    return ok(existing === directory ? msg`${directory} can be written` : msg`${directory} can be created`);
  } catch (error) {
    return unwritable(directory, errorCode(error));
  }
}

export const unwritable = (directory: string, code: string): Verdict =>
  failed(
    msg`${directory} cannot be written (${code}): without a journal no command is taken`,
    isForbidden(code)
      ? msg`run this as the user that runs the bridge, with sudo -u; where this is that user, give it write permission to the folder`
      : (diskRemedies[code] ??
          msg`make it a folder that belongs to the user the bridge runs as, or set data_dir to one`),
  );

/** The folder itself, or the closest existing one above it. Rejects if a part of the path is no folder. */
async function nearest(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(path) !== path) return nearest(dirname(path));
    throw error;
  }
  throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
}

async function writeAndRemove(directory: string): Promise<void> {
  const path = join(directory, `.doctor-${randomBytes(6).toString("hex")}`);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile("written by greenhouse2mqtt doctor, can be deleted\n");
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

const anotherUsers = msg`the data directory is another user's: run this as the user that runs the bridge, with sudo -u`;

async function lockVerdict({ configuration, evidence }: DoctorContext): Promise<Verdict> {
  const { data_dir: directory } = configuration;
  const code = await access(directory, constants.R_OK | constants.X_OK).then(() => "", errorCode);
  if (isForbidden(code)) return notTried(anotherUsers);
  const holder = await holderOf(directory);
  const { bridgeOnline } = evidence;
  if (holder === null)
    return bridgeOnline === true
      ? warning(
          msg`no bridge works in this data directory, but one with this base topic is online at the broker`,
          msg`give each bridge its own mqtt.client_id, mqtt.base_topic and data_dir`,
        )
      : ok(msg`no bridge works in this data directory now`);
  const who = msg`process ${holder.pid}, since ${holder.since}`;
  return bridgeOnline === true
    ? ok(msg`the bridge is running here (${who}) and online at the broker`)
    : warning(
        msg`the data directory is in use by a running bridge (${who})${bridgeOnline === false ? msg`, which is not online at this broker` : ""}`,
        msg`look at its log; a second bridge needs a data_dir of its own`,
      );
}

const lateToldMs = 7 * 24 * 3_600_000;

/** The newest command that the platform carried out late, if it is recent enough to mention. */
async function newestLate(directory: string, now: number) {
  const types = new Set(["late_execution"] as const);
  const [late] = await newestRecords(directory, { types, sinceMs: now - lateToldMs, limit: 1 });
  return late?.type === "late_execution" ? late : null;
}

const ageText = (at: string, now: number): Text =>
  durationText(Math.max(0, Math.round((now - Date.parse(at)) / 1000)));

/** What the journal says of earlier runs; it can be read beside a running bridge. */
async function lastRunVerdict({ ports, configuration }: DoctorContext): Promise<Verdict> {
  const directory = journalDirectory(configuration.data_dir);
  const { open: unsettled, lanes, starts } = await readHistory(directory);
  const problems = lanes.filter(({ memory }) => memory.problem !== undefined);
  const [newest] = await newestRecords(directory, { types: new Set(["result"]), limit: 1 });
  const last = starts.at(-1);
  if (last === undefined && newest === undefined && unsettled.length === 0)
    return ok(msg`the journal is empty: no bridge has run here yet`);
  const age = (at: string) => ageText(at, ports.clock.now());
  const facts = clauses([
    ...(last === undefined ? [] : [msg`started ${age(last.at)} ago`]),
    newest?.type !== "result"
      ? msg`no command yet`
      : msg`newest command ${age(newest.at)} ago (${word(newest.result.outcome)})`,
  ]);
  const isRunning = (await holderOf(configuration.data_dir)) !== null;
  if (unsettled.length > 0 && !isRunning)
    return warning(
      msg`${facts}; ${counted(unsettled.length, "command has", "commands have")} no result yet`,
      msg`start the bridge: it reads them back and settles them, and sends nothing again`,
    );
  if (!isRunning && last?.stopped === false)
    return warning(
      msg`${facts}; it ended without saying so`,
      msg`a power cut, a kill or a crash: look at its log of that time`,
    );
  const late = await newestLate(directory, ports.clock.now());
  if (late !== null)
    return warning(
      msg`${facts}; the platform carried out ${late.id} of ${late.controller}/${late.actuator} ${age(late.at)} ago, after it had ended without being confirmed`,
      msg`it keeps what it refuses or cannot deliver: send the opposite where such a command is not wanted any more`,
    );
  if (problems.length > 0)
    return warning(
      msg`${facts}; the newest command of ${counted(problems.length, "actuator", "actuators")} ended badly`,
      msg`\`greenhouse2mqtt journal\` names them`,
    );
  return ok(facts);
}

type ChannelOf = (context: DoctorContext) => PushChannel | null;

const channels: Readonly<Record<string, ChannelOf>> = {
  "push.device-status": () => ({ type: "device-status" }),
  "push.set-value": () => ({ type: "set-value" }),
  "push.weather-station": weatherStation,
};

/** The three push channels. They only supplement polling, so none of them can fail the report. */
export const pushChecks: readonly Check[] = Object.keys(channels).map((id, at) => ({
  id,
  needs: ["realtime"],
  run: async (context, signal) => {
    // All wait at the same time, so that three silent channels cost no more than one.
    context.evidence.channels ??= Object.values(channels).map((channelOf) =>
      channelVerdict(channelOf, context, signal).catch((error: unknown) => notTried(textOf(error))),
    );
    return (await context.evidence.channels[at]) ?? notTried(msg`it was not opened`);
  },
}));

function weatherStation({ evidence }: DoctorContext): PushChannel | null {
  const station = stationsIn(evidence).find(({ code }) => isPlainCode(code));
  return station === undefined ? null : { type: "weather-station", code: station.code };
}

const stationsIn = ({ devices, controllers }: DoctorContext["evidence"]) =>
  [...devices, ...controllers].filter(({ type }) => type?.startsWith("W") === true);

function withoutStation({ evidence }: DoctorContext): Verdict {
  const [odd] = stationsIn(evidence);
  return odd === undefined
    ? notTried(msg`the account lists no weather station (a type that begins with W)`)
    : notTried(
        msg`the code of the weather station ${commentText(odd.code, 40)} cannot stand in the path of a channel; its readings are polled`,
      );
}

const off = msg`set platform.push.enabled to false: polling does the same, only later`;
const onTheWay = msg`check proxies and firewalls on the way`;

const silent = (waitedMs: number): Verdict =>
  ok(
    msg`opened; no frame came within ${durationText(Math.round(waitedMs / 1000))}, as where nothing changes, or where it waits for a first message (platform.push.subscribe); polling goes on beside it`,
  );

const greetedOnly = (waitedMs: number): Verdict =>
  ok(
    msg`opened; only greetings so far, within ${durationText(Math.round(waitedMs / 1000))}, as where nothing changes, or where it waits for a first message (platform.push.subscribe); polling goes on beside it`,
  );

/** The remedy for a channel that does not open; the setting is not mentioned twice. */
export function notOpened(why: Text): Verdict {
  const [what, remedy] = halvesOf(why) ?? [why, onTheWay];
  const isTold = String(remedy).includes("platform.push.enabled");
  return warning(msg`it does not open: ${what}`, isTold ? remedy : msg`${remedy}, or ${off}`);
}

/** Opens the channel as the bridge would, and waits for one frame. */
async function channelVerdict(
  channelOf: ChannelOf,
  context: DoctorContext,
  stop: AbortSignal,
): Promise<Verdict> {
  const { platform, configuration, ports, limits } = context;
  if (!configuration.platform.push.enabled) return notTried(msg`platform.push.enabled is false`);
  const channel = channelOf(context);
  if (channel === null) return withoutStation(context);
  const end = new AbortController();
  const heard = { isReadable: false };
  let verdict = warning(msg`it does not open: no answer to the upgrade`, msg`${onTheWay}, or ${off}`);
  const decide = (found: Verdict) => {
    verdict = found;
    end.abort();
  };
  const listening = {
    knows: () => true,
    onOpen: () => (verdict = silent(limits.frameMs)),
    greeted: () => (verdict = greetedOnly(limits.frameMs)),
    news: ({ type }: { readonly type: string }) => {
      heard.isReadable = true;
      decide(ok(msg`opened; the first frame tells ${type}`));
    },
    onLost: () => undefined,
    onClosed: (why: Text) => decide(notOpened(why)),
  };
  // Loaded before, as the time for a channel must not be spent on reading files.
  await import("../../platform/push/platform-push.js");
  await within(ports.clock, limits.frameMs, stop, (signal) =>
    platform.listen(channel, listening, anyOf(signal, end.signal)),
  );
  return heard.isReadable ? verdict : (unreadFrame(context, channel) ?? verdict);
}

export const unreadVerdict = (
  name: string,
  { problem, isLeftOut }: Pick<ShapeReport, "problem" | "isLeftOut">,
): Verdict =>
  warning(
    msg`opened, but a frame cannot be read: ${problem}`,
    isLeftOut === true
      ? msg`nothing has to be set: polling reads what such frames are about; where all are so, ${off}`
      : msg`say in platform.shapes.${name} where things are; polling goes on beside it`,
  );

function unreadFrame({ platform }: DoctorContext, { type }: PushChannel): Verdict | null {
  const name = `ws/${type === "weather-station" ? "sensor-data" : type}`;
  const unread = platform.shapeReports().find(({ operation }) => operation === name);
  return unread === undefined ? null : unreadVerdict(name, unread);
}
