import { joinSignals } from "../../runtime/signals.js";
import { clauses } from "../../language/lists.js";
import { joined, msg, row, type Text, TextError, word } from "../../language/text.js";
import { limitTexts } from "../../config/rules/alarms.js";
import type { Tell } from "../../language/words.js";
import { type Readable, Writable } from "node:stream";
import { confirm, log, password, select, text } from "@clack/prompts";
import { type Language, languageName } from "../../greenhouse/labels.js";
import { languages } from "../../language/known.js";
import { suggestedBands } from "../../greenhouse/bands.js";
import { hashPassword, passwordWeakness } from "../../runtime/passwords.js";
import { inert } from "../../runtime/plain-text.js";
import { writtenToken } from "../../settings/sections/platform.js";
import { isUserName } from "../../settings/users.js";
import { urlOf } from "../../settings/values.js";
import { cameWithin, type Clock } from "../../runtime/clock.js";
import { clientIdBeside } from "../../mqtt/connection/settings.js";
import { BrokerClient, openClient } from "../../beside/broker-client.js";
import {
  addressObjection,
  type BrokerAnswer,
  type Credential,
  everyAddress,
  isOpen,
  type PageAnswer,
  type PlatformAnswer,
  type Secret,
} from "./answers.js";

/** Returns the objection to an answer, or null. */
type Judge = (answer: string) => Text | null;

/** The person who is asked. Every question may reject with GoneAway. */
export interface Dialogue {
  say(words: Text): void;
  /** Asks until an answer passes; the answer is trimmed. An empty answer means the suggestion. */
  ask(question: Text, judge: Judge, suggestion?: string): Promise<string>;
  /** Asks until an answer passes; the answer is not trimmed and not shown. */
  secret(question: Text, judge: Judge): Promise<string>;
  /** `before`: the option selected at first; the first one if absent. */
  choose<const Word extends string>(
    question: Text,
    options: readonly (readonly [word: Word, text: Text])[],
    before?: NoInfer<Word>,
  ): Promise<Word>;
  confirm(question: Text, before: boolean): Promise<boolean>;
}

/** The person left: end of input, Ctrl-C, Ctrl-D, or the program was stopped. */
export class GoneAway extends TextError {
  override name = "GoneAway" as const;

  constructor() {
    super(msg`stopped; nothing was written`);
  }
}

interface Terminal {
  readonly input: Readable;
  readonly output: { write(text: string): unknown };
  readonly stop: AbortSignal;
  readonly tell: Tell;
}

/** What the library gets with every question. */
interface About {
  readonly input: Readable;
  readonly output: Writable;
  readonly signal: AbortSignal;
  readonly message: string;
}

/** Aborts at the end of the input. */
function endOf(input: Readable): AbortSignal {
  const ended = new AbortController();
  input.once("end", () => ended.abort());
  // At Ctrl-D on a terminal, the library closes and would leave its question open for ever.
  input.on("keypress", (_, key: { readonly ctrl?: boolean; readonly name?: string } | undefined) => {
    if (key?.ctrl === true && key.name === "d") ended.abort();
  });
  return ended.signal;
}

const writableTo = (screen: Terminal["output"]): Writable =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      screen.write(chunk.toString());
      done();
    },
  });

/** The library draws on the screen itself, so texts of hosts and brokers are made harmless first. */
function harmless(said: Tell) {
  const tell = (text: Text) => inert(said(text));
  return { tell, objection: (text: Text | null) => (text === null ? undefined : tell(text)) };
}

/** Questions in a terminal, in the language that `tell` has at that moment. */
export function terminalDialogue({ input, output: screen, stop, tell: said }: Terminal): Dialogue {
  const ended = endOf(input);
  const { tell, objection } = harmless(said);
  const output = writableTo(screen);
  // A signal for each question, as the library does not remove its listener.
  const answered = async <Answer>(question: Text, prompt: (about: About) => Promise<Answer>) => {
    const { signal, release } = joinSignals(stop, ended);
    const answer = await prompt({ input, output, signal, message: tell(question) }).finally(release);
    if (typeof answer === "symbol") throw new GoneAway();
    return answer as Exclude<Answer, symbol>;
  };
  return {
    say: (words) => log.message(tell(words), { output }),
    ask: async (question, judge, suggestion = "") => {
      const whole = (answer = "") => (answer.trim() === "" ? suggestion : answer.trim());
      const shown = suggestion === "" ? {} : { placeholder: suggestion, defaultValue: suggestion };
      const validate = (answer?: string) => objection(judge(whole(answer)));
      return whole(await answered(question, (about) => text({ ...about, ...shown, validate })));
    },
    secret: (question, judge) =>
      answered(question, (about) =>
        password({ ...about, validate: (answer = "") => objection(judge(answer)) }),
      ),
    choose: async (question, words, before) => {
      const optionOf = ([value, label]: readonly [string, Text]) => ({ value, label: tell(label) });
      const options = words.map(optionOf);
      // The library's instructions are in English.
      const manner = { options, initialValue: before, showInstructions: false };
      const chosen = await answered(question, (about) => select({ ...about, ...manner }));
      const found = words.find(([word]) => word === chosen);
      if (found === undefined) throw new GoneAway();
      return found[0];
    },
    confirm: (question, before) => {
      const words = { active: tell(msg`Yes`), inactive: tell(msg`No`) };
      return answered(question, (about) => confirm({ ...about, ...words, initialValue: before }));
    },
  };
}

/** Asked in both languages, as nobody knows yet which one the person understands. */
export const askLanguage = (dialogue: Dialogue, usual: Language): Promise<Language> =>
  dialogue.choose(
    "Language / 语言  (↑ ↓ Enter)",
    languages.map((one) => [one, languageName(one)] as const),
    usual,
  );

/** `before`: the answers of an earlier try, which hold where nothing is typed. */
export async function askPlatform(dialogue: Dialogue, before?: PlatformAnswer): Promise<PlatformAnswer> {
  dialogue.say(msg`The platform has two hosts. Their addresses are in the papers of your account.`);
  const business = msg`Business host, such as https://business.example.com`;
  const business_url = await askAddress(dialogue, business, before?.business_url);
  const realtime = msg`Realtime host, such as https://realtime.example.com`;
  const realtime_url = await askAddress(dialogue, realtime, before?.realtime_url);
  const question = msg`http:// lets others read the token on the way. Allow it?`;
  const isAllowed =
    [business_url, realtime_url].some(isOpen) &&
    (await dialogue.confirm(question, before?.allow_insecure === true));
  const credential = await askCredential(dialogue, before ?? {});
  return { business_url, realtime_url, ...(isAllowed && { allow_insecure: true }), ...credential };
}

/** A name without a scheme means https. */
async function askAddress(dialogue: Dialogue, what: Text, before?: string): Promise<string> {
  const whole = (answer: string) => (answer.includes("://") ? answer : `https://${answer}`);
  const answer = await dialogue.ask(what, (given) => addressObjection(whole(given)), before);
  return whole(answer).replace(/\/+$/, "");
}

const ways = [
  ["token", msg`a token, kept in secrets.yaml (readable by you only)`],
  ["env", msg`a token in an environment variable; nothing is written`],
  ["file", msg`a token in a file that something else keeps up to date`],
  ["sign_in", msg`account and password; the bridge signs in by itself`],
] as const;

type Way = (typeof ways)[number][0];

function wayOf({ token, token_file, sign_in }: Credential): Way | undefined {
  if (sign_in !== undefined) return "sign_in";
  if (token_file !== undefined) return "file";
  return token && (token.from === "env" ? "env" : "token");
}

async function askCredential(dialogue: Dialogue, before: Credential): Promise<Credential> {
  const { token, token_file, sign_in } = before;
  switch (await dialogue.choose(msg`How does the bridge prove who it is?`, ways, wayOf(before))) {
    case "token":
      return { token: await askSecret(dialogue, msg`Token`, tokenObjection, token) };
    case "env": {
      const usual = token?.from === "env" ? token.text : "GREENHOUSE_TOKEN";
      return {
        token: { from: "env", text: await dialogue.ask(msg`Name of the variable`, nameObjection, usual) },
      };
    }
    case "file":
      return { token_file: await dialogue.ask(msg`Path of the file`, notEmpty, token_file) };
    case "sign_in":
      return { sign_in: { body: await askAccount(dialogue, Object.entries(sign_in?.body ?? {})) } };
  }
}

const ownAccount = msg`Best is an account that nobody else uses: on some platforms each sign-in ends the others' sessions.`;

/** The interface does not name the fields of a sign-in body. */
async function askAccount(dialogue: Dialogue, before: readonly (readonly [string, string | Secret])[]) {
  const [[accountKey, account] = ["account", ""], [passwordKey, password] = ["password", ""]] = before;
  dialogue.say(ownAccount);
  const ask = dialogue.ask.bind(dialogue);
  const accountField = await ask(msg`Name of the account's field in the sign-in`, fieldObjection, accountKey);
  const name = await ask(msg`Account`, notEmpty, typeof account === "string" ? account : "");
  const passwordField = await ask(msg`Name of the password's field`, fieldObjection, passwordKey);
  const kept = typeof password === "string" ? undefined : password;
  return {
    [accountField]: name,
    [passwordField]: await askSecret(dialogue, msg`Password`, notEmpty, kept),
  };
}

async function askSecret(dialogue: Dialogue, question: Text, judge: Judge, before?: Secret): Promise<Secret> {
  const kept = before?.from === "secrets" ? before : null;
  if (kept !== null) dialogue.say(msg`Enter keeps the one given before.`);
  const isKept = (answer: string) => kept !== null && answer.trim() === "";
  const answer = await dialogue.secret(question, (text) => (isKept(text) ? null : judge(text.trim())));
  return kept !== null && isKept(answer) ? kept : { from: "secrets", text: answer.trim() };
}

const nameObjection = (name: string): Text | null =>
  /^[A-Za-z_]\w{0,199}$/.test(name) ? null : msg`letters, digits and _`;
const notEmpty = (answer: string): Text | null => (answer === "" ? msg`it cannot be empty` : null);
const fieldObjection = (answer: string): Text | null =>
  /^[A-Za-z_][\w-]{0,63}$/.test(answer) ? null : msg`letters, digits, _ and -`;
const tokenObjection = (answer: string): Text | null =>
  writtenToken.pattern.test(answer) ? null : writtenToken.what;

/** `find`: looks for brokers nearby. `before`: the answers of an earlier try, which hold where nothing is typed. */
export async function askBroker(
  dialogue: Dialogue,
  find: () => Promise<readonly FoundBroker[]>,
  before?: BrokerAnswer,
): Promise<BrokerAnswer> {
  dialogue.say(msg`Looking for a broker …`);
  const found = await find();
  const isAmong = found.some(({ url }) => url === before?.url);
  const way = await dialogue.choose(
    found.length === 0 ? msg`No broker was found.` : msg`Which broker?`,
    [
      ...found.map(
        ({ url, isLocked }) => [url, isLocked ? msg`${url} (wants a user name and password)` : url] as const,
      ),
      ["embedded", msg`the embedded one, for this computer only (keeps nothing over a restart)`],
      ["other", msg`another one`],
    ],
    before?.url === undefined ? undefined : isAmong ? before.url : "other",
  );
  if (way === "embedded") return {};
  const url =
    way === "other"
      ? await dialogue.ask(msg`Its address`, brokerObjection, before?.url ?? "mqtt://localhost:1883")
      : way;
  const isLocked = found.find((one) => one.url === url)?.isLocked;
  return await askLogin(dialogue, url, isLocked, before?.url === url ? before : undefined);
}

async function askLogin(
  dialogue: Dialogue,
  url: string,
  isLocked: boolean | undefined,
  before: BrokerAnswer | undefined,
): Promise<BrokerAnswer> {
  const had = before === undefined || before.username !== undefined;
  const hasLogin = isLocked ?? (await dialogue.confirm(msg`Does it want a user name and password?`, had));
  if (!hasLogin) return { url };
  const username = await dialogue.ask(msg`User name at the broker`, notEmpty, before?.username);
  const password = await askSecret(dialogue, msg`Its password`, notEmpty, before?.password);
  return { url, username, password };
}

function brokerObjection(address: string): Text | null {
  const url = urlOf(address);
  const isUsable =
    url !== null && /^(mqtts?|wss?):$/.test(url.protocol) && url.hostname !== "" && url.username === "";
  return isUsable ? null : msg`expected an address such as mqtt://localhost:1883, without user and password`;
}

/**
 * Asks whether phones may open the page, which takes a login made here; the password is kept as a hash. Null: the page
 * stays on this computer.
 */
export async function askPage(dialogue: Dialogue): Promise<PageAnswer | null> {
  const question = msg`Phones and other computers in this network too? (the page, with a login)`;
  if (!(await dialogue.confirm(question, false))) return null;
  const username = await dialogue.ask(msg`Your name on the page`, userObjection);
  for (;;) {
    const password = await dialogue.secret(msg`Your password there (at least 12 characters)`, weaknessOf);
    const again = await dialogue.secret(msg`The same again`, notEmpty);
    if (again === password) return { host: everyAddress, users: [await adminOf(username, password)] };
    dialogue.say(msg`These were two different passwords.`);
  }
}

const userObjection = (name: string): Text | null => (isUserName(name) ? null : msg`a name of one line`);
const weaknessOf = (password: string): Text | null => {
  const weakness = passwordWeakness(password);
  return weakness === null ? null : msg`This password will not do: ${weakness}.`;
};

/** A user with all rights on the page. */
export const adminOf = async (username: string, password: string) => ({
  username,
  password: await hashPassword(password),
  role: "admin",
});

/** Asks whether the usual limits are wanted, with their numbers in view. */
export async function askAlarms(dialogue: Dialogue): Promise<typeof suggestedBands | null> {
  dialogue.say(joined([msg`Alarms when it is too cold, too hot, too dry:`, ...bandLines()], "\n"));
  return (await dialogue.confirm(msg`Begin with these limits?`, false)) ? suggestedBands : null;
}

/** `  temperature: below 5 a warning, below 2 an error, above 35 a warning, above 40 an error, after 10m`. */
const bandLines = (): readonly Text[] =>
  Object.entries(suggestedBands).map(([kind, { delay, ...bands }]) => {
    const limits = new Map<string, number>(Object.entries(bands));
    const clausesOf = limitTexts.flatMap(([limit, text]) => {
      const value = limits.get(limit);
      return value === undefined ? [] : [text(String(value))];
    });
    return row`  ${word(kind)}: ${clauses([...clausesOf, msg`after ${delay}`])}`;
  });

/** Where brokers usually are: on this computer, at Home Assistant, and beside us as its add-on. */
export const usualBrokers: readonly string[] = [
  "mqtt://127.0.0.1:1883",
  "mqtt://homeassistant.local:1883",
  "mqtt://core-mosquitto:1883",
];

interface FoundBroker {
  readonly url: string;
  /** The broker refuses clients without a user name and password. */
  readonly isLocked: boolean;
}

const lookMs = 2_000;

/** The brokers that answer, in the given order; all are asked at the same time. */
export async function findBrokers(urls: readonly string[], clock: Clock): Promise<readonly FoundBroker[]> {
  const found = await Promise.all(urls.map((url) => look(url, clock)));
  return found.filter((one) => one !== null);
}

async function look(url: string, clock: Clock): Promise<FoundBroker | null> {
  let found: FoundBroker | null = null;
  const asked = openClient(
    { url, clientId: clientIdBeside("greenhouse2mqtt"), protocolVersion: 5 },
    clock,
    lookMs,
  ).then(async (probe) => {
    if (probe instanceof BrokerClient) {
      found = { url, isLocked: false };
      await probe.close();
    } else if (probe.kind === "refused") found = { url, isLocked: true };
  });
  // Looking up a name may take far longer than connecting.
  await cameWithin(clock, lookMs + 500, asked);
  return found;
}
