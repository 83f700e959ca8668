import { type Readable, Writable } from "node:stream";
import { confirm, log, password, select, text } from "@clack/prompts";
import type { Language } from "../../greenhouse/labels.js";
import { suggestedBands } from "../../greenhouse/bands.js";
import { hashPassword, passwordWeakness } from "../../runtime/passwords.js";
import { urlOf } from "../../settings/values.js";
import { cameWithin, type Clock } from "../../runtime/clock.js";
import { clientIdBeside } from "../../mqtt/connection/settings.js";
import { BrokerClient, openClient } from "../broker-client.js";
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

/** The objection to an answer, or null. */
type Judge = (answer: string) => string | null;

interface YesOrNo {
  readonly active: string;
  readonly inactive: string;
}

/** Who is asked. Every question may reject with GoneAway. */
export interface Dialogue {
  say(words: string): void;
  /** Asks until an answer passes; trimmed. The suggestion stands where nothing is typed. */
  ask(question: string, judge: Judge, suggestion?: string): Promise<string>;
  /** Asks until an answer passes; as it was typed, blanks and all, and not shown. */
  secret(question: string, judge: Judge): Promise<string>;
  /** `before` is the one to begin with, or the first. */
  choose<const Word extends string>(
    question: string,
    options: readonly (readonly [word: Word, text: string])[],
    before?: NoInfer<Word>,
  ): Promise<Word>;
  confirm(question: string, before: boolean, words?: YesOrNo): Promise<boolean>;
}

/** The person went away: end of input, Ctrl-C, Ctrl-D, or the program was stopped. */
export class GoneAway extends Error {
  override name = "GoneAway" as const;

  constructor() {
    super("stopped; nothing was written");
  }
}

interface Terminal {
  readonly input: Readable;
  readonly output: { write(text: string): unknown };
  readonly stop: AbortSignal;
}

/** Aborts when nothing more is typed. */
function endOf(input: Readable): AbortSignal {
  const ended = new AbortController();
  input.once("end", () => ended.abort());
  // On a terminal the library closes at Ctrl-D, and would leave its question open for ever.
  input.on("keypress", (_, key: { readonly ctrl?: boolean; readonly name?: string } | undefined) => {
    if (key?.ctrl === true && key.name === "d") ended.abort();
  });
  return ended.signal;
}

/** Questions over a terminal. */
export function terminalDialogue({ input, output: screen, stop }: Terminal): Dialogue {
  const ended = endOf(input);
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      screen.write(chunk.toString());
      done();
    },
  });
  // A signal for each question, as the library leaves its listener there.
  const common = () => ({ input, output, signal: AbortSignal.any([stop, ended]) });
  return {
    say: (words) => log.message(words, { output }),
    ask: async (question, judge, suggestion = "") => {
      const whole = (answer = "") => (answer.trim() === "" ? suggestion : answer.trim());
      const shown = suggestion === "" ? {} : { placeholder: suggestion, defaultValue: suggestion };
      const validate = (answer?: string) => judge(whole(answer)) ?? undefined;
      return whole(await unlessStopped(text({ ...common(), ...shown, message: question, validate })));
    },
    secret: (question, judge) =>
      unlessStopped(
        password({ ...common(), message: question, validate: (answer = "") => judge(answer) ?? undefined }),
      ),
    choose: async (question, words, before) => {
      const options = words.map(([value, label]): { value: string; label: string } => ({ value, label }));
      const chosen = await unlessStopped(
        // Its instructions are English.
        select({ ...common(), message: question, options, initialValue: before, showInstructions: false }),
      );
      const found = words.find(([word]) => word === chosen);
      if (found === undefined) throw new GoneAway();
      return found[0];
    },
    confirm: (question, before, words = { active: "Yes", inactive: "No" }) =>
      unlessStopped(confirm({ ...common(), ...words, message: question, initialValue: before })),
  };
}

/** The same dialogue in another language. */
export const inLanguage = (dialogue: Dialogue, tell: (text: string) => string): Dialogue => {
  const judgeWith =
    (judge: Judge): Judge =>
    (answer) => {
      const objection = judge(answer);
      return objection === null ? null : tell(objection);
    };
  return {
    say: (words) => dialogue.say(tell(words)),
    ask: (question, judge, suggestion) => dialogue.ask(tell(question), judgeWith(judge), suggestion),
    secret: (question, judge) => dialogue.secret(tell(question), judgeWith(judge)),
    choose: (question, options, before) =>
      dialogue.choose(
        tell(question),
        options.map(([word, text]) => [word, tell(text)] as const),
        before,
      ),
    confirm: (question, before) =>
      dialogue.confirm(tell(question), before, { active: tell("Yes"), inactive: tell("No") }),
  };
};

async function unlessStopped<Answer>(asked: Promise<Answer>): Promise<Exclude<Answer, symbol>> {
  const answer = await asked;
  if (typeof answer === "symbol") throw new GoneAway();
  return answer as Exclude<Answer, symbol>;
}

/** Asked in both, as nobody knows yet which one is understood. */
export const askLanguage = (dialogue: Dialogue, usual: Language): Promise<Language> =>
  dialogue.choose(
    "Language / 语言  (↑ ↓ Enter)",
    [
      ["en", "English"],
      ["zh", "中文"],
    ],
    usual,
  );

/** `before`: the answers of an earlier try, which stand where nothing else is typed. */
export async function askPlatform(dialogue: Dialogue, before?: PlatformAnswer): Promise<PlatformAnswer> {
  dialogue.say("The platform has two hosts. Their addresses are in the papers of your account.");
  const address = (name: string, earlier?: string) =>
    askAddress(dialogue, `${name} host, such as https://${name.toLowerCase()}.example.com`, earlier);
  const business_url = await address("Business", before?.business_url);
  const realtime_url = await address("Realtime", before?.realtime_url);
  const question = "http:// lets others read the token on the way. Allow it?";
  const isAllowed =
    [business_url, realtime_url].some(isOpen) &&
    (await dialogue.confirm(question, before?.allow_insecure === true));
  const credential = await askCredential(dialogue, before ?? {});
  return { business_url, realtime_url, ...(isAllowed && { allow_insecure: true }), ...credential };
}

/** A bare name means https. */
async function askAddress(dialogue: Dialogue, what: string, before?: string): Promise<string> {
  const whole = (answer: string) => (answer.includes("://") ? answer : `https://${answer}`);
  const answer = await dialogue.ask(what, (given) => addressObjection(whole(given)), before);
  return whole(answer).replace(/\/+$/, "");
}

const ways = [
  ["token", "a token, kept in secrets.yaml (readable by you only)"],
  ["env", "a token in an environment variable; nothing is written"],
  ["file", "a token in a file that something else keeps up to date"],
  ["sign_in", "account and password; the bridge signs in by itself"],
] as const;

type Way = (typeof ways)[number][0];

function wayOf({ token, token_file, sign_in }: Credential): Way | undefined {
  if (sign_in !== undefined) return "sign_in";
  if (token_file !== undefined) return "file";
  return token && (token.from === "env" ? "env" : "token");
}

async function askCredential(dialogue: Dialogue, before: Credential): Promise<Credential> {
  const { token, token_file, sign_in } = before;
  switch (await dialogue.choose("How does the bridge prove who it is?", ways, wayOf(before))) {
    case "token":
      return { token: await askSecret(dialogue, "Token", tokenObjection, token) };
    case "env": {
      const usual = token?.from === "env" ? token.text : "GREENHOUSE_TOKEN";
      return {
        token: { from: "env", text: await dialogue.ask("Name of the variable", nameObjection, usual) },
      };
    }
    case "file":
      return { token_file: await dialogue.ask("Path of the file", notEmpty, token_file) };
    case "sign_in":
      return { sign_in: { body: await askAccount(dialogue, Object.entries(sign_in?.body ?? {})) } };
  }
}

const ownAccount =
  "Best is an account that nobody else uses: on some platforms each sign-in ends the others' sessions.";

/** The interface does not name the fields of the sign-in body. */
async function askAccount(dialogue: Dialogue, before: readonly (readonly [string, string | Secret])[]) {
  const [[accountKey, account] = ["account", ""], [passwordKey, password] = ["password", ""]] = before;
  dialogue.say(ownAccount);
  const ask = dialogue.ask.bind(dialogue);
  const accountField = await ask("Name of the account's field in the sign-in", fieldObjection, accountKey);
  const name = await ask("Account", notEmpty, typeof account === "string" ? account : "");
  const passwordField = await ask("Name of the password's field", fieldObjection, passwordKey);
  const kept = typeof password === "string" ? undefined : password;
  return {
    [accountField]: name,
    [passwordField]: await askSecret(dialogue, "Password", notEmpty, kept),
  };
}

async function askSecret(
  dialogue: Dialogue,
  question: string,
  judge: Judge,
  before?: Secret,
): Promise<Secret> {
  const kept = before?.from === "secrets" ? before : null;
  if (kept !== null) dialogue.say("Enter keeps the one given before.");
  const isKept = (answer: string) => kept !== null && answer.trim() === "";
  const answer = await dialogue.secret(question, (text) => (isKept(text) ? null : judge(text.trim())));
  return kept !== null && isKept(answer) ? kept : { from: "secrets", text: answer.trim() };
}

const nameObjection = (name: string): string | null =>
  /^[A-Za-z_]\w{0,199}$/.test(name) ? null : "letters, digits and _";
const notEmpty = (answer: string): string | null => (answer === "" ? "it cannot be empty" : null);
const fieldObjection = (answer: string): string | null =>
  /^[A-Za-z_][\w-]{0,63}$/.test(answer) ? null : "letters, digits, _ and -";
const tokenObjection = (answer: string): string | null =>
  /^[!-~]{1,8192}$/.test(answer) ? null : 'the token alone, without "Bearer " and without blanks';

/** `find` looks for brokers nearby. `before`: the answers of an earlier try, which stand where nothing else is typed. */
export async function askBroker(
  dialogue: Dialogue,
  find: () => Promise<readonly FoundBroker[]>,
  before?: BrokerAnswer,
): Promise<BrokerAnswer> {
  dialogue.say("Looking for a broker …");
  const found = await find();
  const isAmong = found.some(({ url }) => url === before?.url);
  const way = await dialogue.choose(
    found.length === 0 ? "No broker was found." : "Which broker?",
    [
      ...found.map(
        ({ url, isLocked }) => [url, `${url}${isLocked ? " (wants a user name and password)" : ""}`] as const,
      ),
      ["embedded", "the embedded one, for this computer only (keeps nothing over a restart)"],
      ["other", "another one"],
    ],
    before?.url === undefined ? undefined : isAmong ? before.url : "other",
  );
  if (way === "embedded") return {};
  const url =
    way === "other"
      ? await dialogue.ask("Its address", brokerObjection, before?.url ?? "mqtt://localhost:1883")
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
  const hasLogin = isLocked ?? (await dialogue.confirm("Does it want a user name and password?", had));
  if (!hasLogin) return { url };
  const username = await dialogue.ask("User name at the broker", notEmpty, before?.username);
  const password = await askSecret(dialogue, "Its password", notEmpty, before?.password);
  return { url, username, password };
}

function brokerObjection(address: string): string | null {
  const url = urlOf(address);
  const isUsable =
    url !== null && /^(mqtts?|wss?):$/.test(url.protocol) && url.hostname !== "" && url.username === "";
  return isUsable ? null : "expected an address such as mqtt://localhost:1883, without user and password";
}

/**
 * Whether phones may open the page: only with a login, which is made here. `null`: the page stays on this computer. The password is
 * kept as a hash.
 */
export async function askPage(dialogue: Dialogue): Promise<PageAnswer | null> {
  const question = "Phones and other computers in this network too? (the page, with a login)";
  if (!(await dialogue.confirm(question, false))) return null;
  const username = await dialogue.ask("Your name on the page", userObjection);
  for (;;) {
    const password = await dialogue.secret("Your password there (at least 12 characters)", weaknessOf);
    const again = await dialogue.secret("The same again", notEmpty);
    if (again === password) return { host: everyAddress, users: [await adminOf(username, password)] };
    dialogue.say("These were two different passwords.");
  }
}

const userObjection = (name: string): string | null =>
  /^[^\p{C}]{1,64}$/u.test(name) ? null : "a name of one line";
const weaknessOf = (password: string): string | null => {
  const weakness = passwordWeakness(password);
  return weakness === null ? null : `This password will not do: ${weakness}.`;
};

/** Who may do everything at the page. */
export const adminOf = async (username: string, password: string) => ({
  username,
  password: await hashPassword(password),
  role: "admin",
});

/** The usual limits as lines, and whether they are wanted; asked with the numbers in view. */
export async function askAlarms(dialogue: Dialogue): Promise<typeof suggestedBands | null> {
  dialogue.say(["Alarms when it is too cold, too hot, too dry:", ...bandLines()].join("\n"));
  return (await dialogue.confirm("Begin with these limits?", false)) ? suggestedBands : null;
}

/** `  temperature: low_low 2, low 5, high 35, high_high 40 (10m)`. */
const bandLines = (): readonly string[] =>
  Object.entries(suggestedBands).map(([kind, { delay, ...limits }]) => {
    const numbers = Object.entries(limits).map(([limit, value]) => `${limit} ${value}`);
    return `  ${kind}: ${numbers.join(", ")} (${delay})`;
  });

/** Where a broker is usually found: on this computer, at Home Assistant, beside us as its add-on. */
export const usualBrokers: readonly string[] = [
  "mqtt://127.0.0.1:1883",
  "mqtt://homeassistant.local:1883",
  "mqtt://core-mosquitto:1883",
];

interface FoundBroker {
  readonly url: string;
  /** It refuses clients without a user name and password. */
  readonly isLocked: boolean;
}

const lookMs = 2_000;

/** The brokers that answer, in the order given. All are asked at the same time. */
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
  // A name that cannot be looked up may take far longer than a connection.
  await cameWithin(clock, lookMs + 500, asked);
  return found;
}
