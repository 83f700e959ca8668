import { z } from "zod";
import type { Language } from "../greenhouse/labels.js";
import type { SettingsProposal } from "../page/protocol.js";
import { errorCode } from "../runtime/file-system.js";
import { expecting } from "../settings/values.js";
import { type Answer, failure, json, notFound } from "./answer.js";
import { fields, nothing, type Route, type Routes, routeTo } from "./route.js";
import type { AskedOfBridge } from "./asked.js";
import type { Saver, SettingsSource, WantedSettings } from "./settings-source.js";

/* Settings: the configuration as an admin sees it, checks a change of it, and saves it. */

const language = z.enum(["en", "zh"], { error: expecting("en or zh") }).default("en");
const changes = z.record(z.string(), z.unknown(), {
  error: expecting('an object of keys and values, such as {"polling.sensors": "30s"}'),
});
const text = z.string({ error: expecting("the text of the file") }).max(4 * 1_048_576);
const wanted = { changes: changes.optional(), text: text.optional(), language };
const onlyOne = (given: { readonly changes?: unknown; readonly text?: unknown }) =>
  (given.changes === undefined) !== (given.text === undefined);
const oneOfThem = "changes: send either changes or text";

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
 * Once the file names users, those who were made at the page are none any more: so they are put into it first, and whoever
 * is added comes behind them.
 */
async function withMadeUsers(
  given: WantedSettings,
  source: SettingsSource,
  { port }: AskedOfBridge,
): Promise<WantedSettings> {
  if (!("changes" in given)) return given;
  const { users } = port.listener();
  // Where others reach the page, its users stand in the file.
  const isAboutUsers = Object.keys(given.changes).some(
    (key) => key.startsWith("http.users[") || key === "http.host",
  );
  if (!isAboutUsers || users.length === 0) return given;
  const { given: inFile } = await source.read();
  if (Object.keys(inFile).some((key) => key.startsWith("http.users["))) return given;
  const moved = Object.entries(given.changes).map(([key, value]): readonly [string, unknown] => [
    key.replace(/^http\.users\[(\d+)\]/, (_, at: string) => `http.users[${Number(at) + users.length}]`),
    value,
  ]);
  const made = users.map(({ username, password, role }, at): readonly [string, unknown] => [
    `http.users[${at}]`,
    { username, password, role },
  ]);
  return { changes: Object.fromEntries<unknown>([...made, ...moved]) };
}

const wantedOf = ({ changes: values, text: whole }: z.output<typeof toCheck>): WantedSettings =>
  whole === undefined ? { changes: values ?? {} } : { text: whole };

type Run<Given> = (given: Given, source: SettingsSource, asked: AskedOfBridge) => Promise<Answer>;

const notHere = notFound("settings here");

/** Where they are not taken away. */
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

/** The file or its folder cannot be read, which is no defect. */
function unreadable(error: unknown): Answer {
  const isOfDisk = error instanceof Error && (error.name === "NotWritten" || errorCode(error) !== "");
  if (!isOfDisk) throw error;
  return failure(503, "settings_unreadable", `The configuration cannot be read: ${error.message}`);
}

const ofOtherFiles = /^(?:\w*_file|ca|cert|key)$/;

/** Whether it names a file of this computer, at any depth. */
const namesFile = (key: string, value: unknown): boolean =>
  ofOtherFiles.test(/[^.[\]]*$/.exec(key)?.[0] ?? "") ||
  (typeof value === "object" &&
    value !== null &&
    Object.entries(value).some(([inner, below]) => namesFile(inner, below)));

/**
 * Accounts of a fleet share the file of their secrets and the computer: who sees some of them alone must not have the others' shown
 * or sent anywhere, by a name for them or by the file they stand in.
 */
export function foreignReach(
  given: WantedSettings,
  { visitor }: { readonly visitor: Pick<AskedOfBridge["visitor"], "accounts"> },
): Answer | null {
  if (visitor.accounts === undefined) return null;
  const isAllowed =
    "changes" in given && !Object.entries(given.changes).some(([key, value]) => namesFile(key, value));
  return isAllowed ? null : failure(403, "accounts", ofAllAccounts);
}

const ofAllAccounts =
  "The file as a text, and keys that name other files, are for an admin of all accounts of the fleet.";

const readSettings = route("GET", nothing, async (_, source) => json(await source.read()));

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

export const settingsRoutes: Routes<AskedOfBridge> = {
  "/api/settings": { ...readSettings, other: saveSettings },
  "/api/settings/check": route("POST", toCheck, async (given, source, asked) => {
    const refusal = foreignReach(wantedOf(given), asked);
    if (refusal !== null) return refusal;
    return json(
      await source.check(await withMadeUsers(wantedOf(given), source, asked), saverOf(given, asked)),
    );
  }),
  // Also for the command line, which has changed the file itself.
  "/api/settings/take": route("POST", nothing, async (_, source) => {
    const wrong = await source.readAgain();
    return wrong === null ? { status: 204 } : failure(422, "wrong", wrong);
  }),
};
