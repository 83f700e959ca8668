import { languages } from "../language/known.js";
import { z } from "zod";
import type { Language } from "../greenhouse/labels.js";
import type { SettingsLogin, SettingsProposal } from "../page/protocol.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { errorCode } from "../runtime/file-system.js";
import { keyText, pathOf } from "../settings/key.js";
import { expecting, expectingOneOf } from "../settings/values.js";
import { type Answer, badRequest, bodyOf, failure, headerSaid, json, jsonLines, notFound } from "./answer.js";
import type { Port } from "./port.js";
import { type AskedOfBridge, fields, nothing, type Route, type Routes, routeTo } from "./route.js";
import type { WantedSettings } from "../page/protocol.js";
import type { RestoreAccount, Saver, SettingsSource } from "../page/settings-source.js";

/* Settings: shows the configuration to an admin, checks changes of it, and saves them. */

const language = z.enum(languages, { error: expectingOneOf(languages) }).default("en");
const changes = z.record(z.string(), z.unknown(), {
  error: expecting('an object of keys and values, such as {"polling.sensors": "30s"}'),
});
const text = z.string({ error: expecting("the text of the file") }).max(4 * 1_048_576);
const order = z.record(z.string(), z.array(z.string()), {
  error: expecting(
    'an object of keys and their names in order, such as {"controllers": ["GH-0002", "GH-0001"]}',
  ),
});
const wanted = { changes: changes.optional(), order: order.optional(), text: text.optional(), language };
const onlyOne = (given: { readonly changes?: unknown; readonly order?: unknown; readonly text?: unknown }) =>
  (given.changes === undefined && given.order === undefined) !== (given.text === undefined);
const oneOfThem = "changes: send either changes and order, or text";

const toCheck = fields(wanted).refine(onlyOne, oneOfThem);
const etag = z.string({ error: expecting("the etag that api/settings gave") });
const toSave = fields({ ...wanted, etag }).refine(onlyOne, oneOfThem);

const saverOf = (
  { language: spoken }: { readonly language: Language },
  { visitor }: AskedOfBridge,
): Saver => ({
  language: spoken,
  admin: visitor.via?.startsWith("page:") === true ? visitor.user : null,
});

/**
 * The place in `http.users` that a key is about, however it is spelled, and the rest of its path; null for other keys.
 */
function placeOfUser(key: string) {
  const [section, list, at, ...rest] = pathOf(key) ?? [];
  return section === "http" && list === "users" && typeof at === "number" ? { at, rest } : null;
}

// A page that others can reach needs its users in the file.
const isHost = (key: string): boolean => {
  const path = pathOf(key);
  return path !== null && keyText(path) === "http.host";
};

/**
 * Users made at the page stop counting once the file names any. So they are written to the file first, and users added
 * now come behind them.
 */
export async function withMadeUsers(
  given: WantedSettings,
  source: Pick<SettingsSource, "read">,
  { port }: { readonly port: Pick<Port, "madeUsers"> },
): Promise<WantedSettings> {
  if (!("changes" in given)) return given;
  const users = port.madeUsers?.() ?? [];
  const isAboutUsers = Object.keys(given.changes).some((key) => isHost(key) || placeOfUser(key) !== null);
  if (!isAboutUsers || users.length === 0) return given;
  const { given: inFile } = await source.read();
  if (Object.keys(inFile).some((key) => placeOfUser(key) !== null)) return given;
  const moved = Object.entries(given.changes).map(([key, value]): readonly [string, unknown] => {
    const place = placeOfUser(key);
    return [place === null ? key : keyText(["http", "users", place.at + users.length, ...place.rest]), value];
  });
  const made = users.map(({ username, password, role }, at): readonly [string, unknown] => [
    `http.users[${at}]`,
    { username, password, role },
  ]);
  return { ...given, changes: Object.fromEntries<unknown>([...made, ...moved]) };
}

const wantedOf = ({
  changes: values,
  order: orders,
  text: whole,
}: z.output<typeof toCheck>): WantedSettings =>
  whole === undefined ? { changes: values ?? {}, order: orders } : { text: whole };

type Run<Given> = (given: Given, source: SettingsSource, asked: AskedOfBridge) => Promise<Answer>;

const notHere = notFound("settings here");

/** A route that answers unless settings are turned off. */
const route = <Given>(
  method: Route["method"],
  schema: z.ZodType<Given>,
  run: Run<Given>,
): Route<AskedOfBridge> =>
  routeTo(method, "admin", schema, (given, asked: AskedOfBridge) => {
    const { settings } = asked.service.sources;
    const isOff =
      settings === undefined || (!asked.port.listener().settings && asked.visitor.isOwner !== true);
    return isOff ? notHere : run(given, settings, asked).catch(unreadable);
  });

/** The answer for a file or folder that cannot be read, which is no defect; rethrows all other errors. */
function unreadable(error: unknown): Answer {
  const isOfDisk = error instanceof Error && (error.name === "NotWritten" || errorCode(error) !== "");
  if (!isOfDisk) throw error;
  return failure(503, "settings_unreadable", `The configuration cannot be read: ${error.message}`);
}

const ofOtherFiles = /^(?:\w*_file|data_dir|ca|cert|key)$/;

/** Whether a value under this key is the path of a file or folder of this computer, or holds one at any depth. */
const isOfFile = (name: string | number | undefined, value: unknown): boolean =>
  ofOtherFiles.test(String(name)) ||
  (typeof value === "object" &&
    value !== null &&
    Object.entries(value).some(([inner, below]) => isOfFile(inner, below)));

/** Judges the key's path, since keys can be spelled in several ways; a key without a path is refused too. */
function reachesOthers(key: string, value: unknown): boolean {
  const path = pathOf(key);
  return path === null || path[0] === "http" || isOfFile(path.at(-1), value);
}

/**
 * Refuses changes with which an admin of some accounts could see others' data or send it elsewhere: accounts of a fleet
 * share the computer and the file of secrets. Nor may he open a port with users of his own.
 */
export function foreignReach(
  given: WantedSettings,
  { visitor }: { readonly visitor: Pick<AskedOfBridge["visitor"], "accounts"> },
): Answer | null {
  if (visitor.accounts === undefined) return null;
  const isAllowed =
    "changes" in given && !Object.entries(given.changes).some(([key, value]) => reachesOthers(key, value));
  return isAllowed ? null : failure(403, "accounts", ofAllAccounts);
}

const ofAllAccounts =
  "The file as a text, keys of http, and keys that name other files or folders, are for an admin of all accounts of the fleet.";

const readSettings = route("GET", nothing, async (_, source, { visitor }) => {
  const { program, ...rest } = await source.read();
  const of_fleet = program.of_fleet && visitor.accounts === undefined;
  return json({ ...rest, program: { ...program, of_fleet } });
});

const saveSettings = route("POST", toSave, async (given, source, asked) => {
  const refusal = foreignReach(wantedOf(given), asked);
  if (refusal !== null) return refusal;
  const wantedNow = await withMadeUsers(wantedOf(given), source, asked);
  const saved = await source.save(wantedNow, given.etag, saverOf(given, asked));
  const { proposal } = saved;
  if (saved.saved) {
    const { user, via } = asked.visitor;
    const keys = [...proposal.keys, ...proposal.secrets.map((name) => `secrets.${name}`)];
    if (keys.length > 0) await asked.service.sources.settingsSaved?.(user, via, keys);
    if (keys.length > 0) source.takeUp(user);
    return json(proposal);
  }
  if (saved.why === "wrong") return json({ error: "wrong", message: wrongMessage, ...proposal }, 422);
  if (saved.why === "changed")
    return json(
      { error: "changed", message: changedMessage, ...(await source.read()), ...differenceOf(proposal) },
      409,
    );
  return json({ error: "not_writable", message: saved.message ?? "", ...proposal }, 409);
});

const differenceOf = ({ difference }: SettingsProposal) => ({ difference });
const wrongMessage = "This cannot be saved; the keys say why.";
const changedMessage = "Somebody else changed the file meanwhile; this is what it says now.";

/** Tries whether platform, broker and Home Assistant can be reached with settings that are not saved yet. */
const trySettings = route("POST", toCheck, async (given, source, asked) => {
  const refusal = foreignReach(wantedOf(given), asked);
  if (refusal !== null) return refusal;
  const wantedNow = await withMadeUsers(wantedOf(given), source, asked);
  const found = source.attempt(wantedNow, given.language, asked.gone);
  const body = asked.service.once("attempt", found);
  if (body === null) return tooManyTries;
  return jsonLines(body);
});

const tooManyTries = failure(
  429,
  "attempt_runs",
  "Connections are being tried already, and only one at a time are; try again when that has ended.",
  { "retry-after": "10" },
);

/** Others see only the first part of a login's key. */
const shortOf = (who: string): string => who.slice(0, 12);

/** An admin of some accounts of a fleet sees his own logins alone. */
const loginsSeen = ({ sessions, visitor }: AskedOfBridge) =>
  sessions.list().filter(({ user }) => visitor.accounts === undefined || user === visitor.user);

const logins = (asked: AskedOfBridge): readonly SettingsLogin[] =>
  loginsSeen(asked).map(({ who, user, beganAt, usedAt }) => ({
    id: shortOf(who),
    user,
    since: new Date(beganAt).toISOString(),
    used: new Date(usedAt).toISOString(),
    own: who === asked.visitor.who,
  }));

const logOut = route("POST", fields({ ids: z.array(text).max(1_000) }), async ({ ids }, _, asked) => {
  const whos = loginsSeen(asked).filter(({ who }) => ids.includes(shortOf(who)));
  const isKept = await asked.sessions.end(whos.map(({ who }) => who));
  asked.review();
  return isKept ? { status: 204 } : failure(503, "not_kept", notKeptElsewhere);
});

const notKeptElsewhere =
  "They are logged out now, but the disk of the bridge did not take it: should it be restarted before it does, these logins would count again.";

const toBackUp = fields({
  password: text.max(1_000).optional(),
  fleet: z.boolean().default(false),
  language,
});

/** The whole bridge as one file; of a fleet one account, or everything for an admin of all accounts. */
const backUp = route("POST", toBackUp, async ({ password = "", fleet, language: spoken }, source, asked) => {
  if (fleet && asked.visitor.accounts !== undefined) return failure(403, "accounts", fleetForAll);
  const wantedBackup = { password: password === "" ? null : password, fleet, language: spoken };
  const made = await source.backup(wantedBackup, asked.gone);
  if (made === null) return backupRuns;
  // The first piece shows whether the backup can be made.
  const pieces = made.bytes[Symbol.asyncIterator]();
  const first = await pieces.next().catch((error: unknown) => failure(500, "no_backup", sentenceIn(error)));
  if ("status" in first) return first;
  const body = async function* () {
    try {
      if (first.done !== true) yield first.value;
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
    } finally {
      // A download that is given up makes room for the next.
      await pieces.return?.();
    }
  };
  const headers = {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="${made.name}"`,
    // A header takes no letters beyond Latin-1.
    ...(made.remarks.length > 0 && { "x-remarks": encodeURIComponent(made.remarks.join(" ")) }),
  };
  return { status: 200, body: body(), headers };
});

const sentenceIn = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const fleetForAll = "The backup of the whole fleet is for an admin of all its accounts.";
const backupRuns = failure(429, "backup_runs", "A backup is being made already.", { "retry-after": "10" });

const restart = route("POST", nothing, async (_, source, { visitor }) => {
  // In a fleet a restart would end all accounts.
  const isBegun = visitor.accounts === undefined && (await source.restart());
  if (typeof isBegun === "string") return failure(502, "restart_refused", refusedRestart(isBegun));
  return isBegun ? { status: 202 } : failure(409, "not_restarted", notRestarted);
});

const refusedRestart = (why: string) => `Home Assistant did not restart the app (${why}); restart it there.`;

const notRestarted =
  "Nothing would start the bridge again here: it runs neither as an app of Home Assistant nor under systemd with Restart=always. Restart it where it was started.";

export const settingsRoutes: Routes<AskedOfBridge> = {
  "/api/settings/try": trySettings,
  "/api/settings/logins": {
    ...route("GET", nothing, (_, __, asked) => Promise.resolve(json(logins(asked)))),
    other: logOut,
  },
  "/api/settings/restart": restart,
  "/api/settings/backup": backUp,
  "/api/settings": { ...readSettings, other: saveSettings },
  "/api/settings/check": route("POST", toCheck, async (given, source, asked) => {
    const refusal = foreignReach(wantedOf(given), asked);
    if (refusal !== null) return refusal;
    return json(
      await source.check(await withMadeUsers(wantedOf(given), source, asked), saverOf(given, asked)),
    );
  }),
  // Also for the command line, after it has changed the file.
  "/api/settings/take": route("POST", nothing, async (_, source) => {
    const wrong = await source.readAgain();
    return wrong === null ? { status: 204 } : failure(422, "wrong", wrong);
  }),
};

/*
 * Restores an account of a fleet from a backup. A request has five seconds and its socket a pace, so the file comes in
 * pieces. A header of each holds the rest, as URL-encoded JSON.
 */

const pieceSaid = z.object({
  id: z.string().regex(/^[\w-]{8,64}$/),
  at: z.int().min(0),
  end: z
    .object({
      password: z.string().max(1_000).default(""),
      account: z.union([z.literal(""), z.string().regex(topicIdPattern)]).default(""),
      language: language,
    })
    .optional(),
});

const mostBytesOfPiece = 512 * 1024;
/** As much as `restore` reads. */
export const mostBackupBytes = 512 * 1024 * 1024;

export const restoreRoute = (restore: RestoreAccount): Route => ({
  method: "POST",
  role: "admin",
  answer: async ({ request, visitor, port }) => {
    if (!port.listener().settings) return notHere;
    if (visitor.accounts !== undefined) return failure(403, "accounts", forAll);
    const { data } = pieceSaid.safeParse(headerSaid(request.headers["x-restore"]));
    if (data === undefined)
      return badRequest("x-restore: expected JSON with id and at, in the letters of a URL.");
    const bytes = await bodyOf(request, mostBytesOfPiece);
    if (!Buffer.isBuffer(bytes)) return bytes;
    const { id, at, end } = data;
    if (at + bytes.length > mostBackupBytes)
      return failure(413, "too_large", `A backup has at most ${mostBackupBytes} bytes.`);
    const { password = "", account = "" } = end ?? {};
    const done = await restore({
      ...{ id, at, bytes },
      end: end === undefined ? null : { ...end, password: password || null, account: account || null },
    });
    if ("isBusy" in done) return failure(429, "restore_runs", restoreRuns, { "retry-after": "10" });
    if ("wrong" in done) return badRequest(done.wrong);
    if ("size" in done && done.isMissing) return failure(409, "restore_gap", gap);
    return json(done);
  },
});

const forAll = "An account is restored by an admin of all accounts of the fleet.";
const gap = "A piece of the backup is missing; send it again from its beginning.";
const restoreRuns = "A backup is being restored already.";
