import { urlOf } from "../../config/values.js";
import type { Clock } from "../../runtime/clock.js";
import { BrokerProbe, openProbe, probeId } from "../doctor/broker-probe.js";
import { cameWithin } from "../doctor/finding.js";
import type { Dialogue, Judge } from "./dialogue.js";
import {
  addressObjection,
  type BrokerAnswer,
  brokerFrom,
  type CredentialAnswer,
  credentialFrom,
  type GivenAnswers,
  isOpen,
  type PlatformAnswer,
  type Secret,
} from "./given-answers.js";

/** `before`: the answers of an earlier try, which stand where nothing else is typed. */
export async function askPlatform(
  dialogue: Dialogue,
  given: GivenAnswers,
  before?: PlatformAnswer,
): Promise<PlatformAnswer> {
  dialogue.say("The platform has two hosts. Their addresses are in the papers of your account.");
  const business = "Business host, such as https://business.example.com";
  const realtime = "Realtime host, such as https://realtime.example.com";
  const businessUrl = given.businessUrl ?? (await askAddress(dialogue, business, before?.businessUrl));
  const realtimeUrl = given.realtimeUrl ?? (await askAddress(dialogue, realtime, before?.realtimeUrl));
  const insecure = "http:// lets others read the token on the way. Allow it?";
  const allowInsecure =
    given.allowInsecure ??
    ([businessUrl, realtimeUrl].some(isOpen) &&
      (await dialogue.agreed(insecure, before?.allowInsecure === true)));
  const credential = credentialFrom(given) ?? (await askCredential(dialogue, before?.credential));
  return { businessUrl, realtimeUrl, allowInsecure, credential };
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

function wayOf(credential: CredentialAnswer): (typeof ways)[number][0] {
  if (credential.type === "token") return credential.token.from === "env" ? "env" : "token";
  return credential.type === "sign_in" ? "sign_in" : "file";
}

async function askCredential(dialogue: Dialogue, before?: CredentialAnswer): Promise<CredentialAnswer> {
  const suggested = before && wayOf(before);
  const way = await dialogue.choose("How does the bridge prove who it is?", ways, suggested);
  const token = before?.type === "token" ? before.token : undefined;
  switch (way) {
    case "token":
      return { type: "token", token: await askSecret(dialogue, "Token", tokenObjection, token) };
    case "env":
      return { type: "token", token: { from: "env", name: await askVariable(dialogue, token) } };
    case "file": {
      const path = before?.type === "token_file" ? before.path : undefined;
      return { type: "token_file", path: await dialogue.ask("Path of the file", notEmpty, path) };
    }
    case "sign_in":
      return await askAccount(dialogue, before?.type === "sign_in" ? before : undefined);
  }
}

type SignIn = Extract<CredentialAnswer, { type: "sign_in" }>;

const ownAccount =
  "Best is an account that nobody else uses: on some platforms each sign-in ends the others' sessions.";

/** The interface does not name the fields of the sign-in body. */
async function askAccount(dialogue: Dialogue, before?: SignIn): Promise<CredentialAnswer> {
  dialogue.say(ownAccount);
  const accountField = await dialogue.ask(
    "Name of the account's field in the sign-in",
    fieldObjection,
    before?.accountField ?? "account",
  );
  const account = await dialogue.ask("Account", notEmpty, before?.account);
  const passwordField = await dialogue.ask(
    "Name of the password's field",
    fieldObjection,
    before?.passwordField ?? "password",
  );
  const password = await askSecret(dialogue, "Password", notEmpty, before?.password);
  return { type: "sign_in", accountField, account, passwordField, password };
}

const askVariable = (dialogue: Dialogue, before?: Secret): Promise<string> =>
  dialogue.ask(
    "Name of the variable",
    (name) => (/^[A-Za-z_]\w{0,199}$/.test(name) ? null : "letters, digits and _"),
    before?.from === "env" ? before.name : "GREENHOUSE_TOKEN",
  );

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

const notEmpty = (answer: string): string | null => (answer === "" ? "it cannot be empty" : null);
const fieldObjection = (answer: string): string | null =>
  /^[A-Za-z_][\w-]{0,63}$/.test(answer) ? null : "letters, digits, _ and -";
const tokenObjection = (answer: string): string | null =>
  /^[!-~]{1,8192}$/.test(answer) ? null : 'the token alone, without "Bearer " and without blanks';

type External = Extract<BrokerAnswer, { type: "external" }>;

/**
 * `find` looks for brokers nearby; it is only called when the command line names none. `before`: the answers of an earlier
 * try, which stand where nothing else is typed.
 */
export async function askBroker(
  dialogue: Dialogue,
  given: GivenAnswers,
  find: () => Promise<readonly FoundBroker[]>,
  before?: BrokerAnswer,
): Promise<BrokerAnswer> {
  if (given.mqttUrl !== undefined || given.embedded === true) return brokerFrom(given);
  dialogue.say("Looking for a broker …");
  const found = await find();
  const earlier = before?.type === "external" ? before : undefined;
  const isAmong = found.some(({ url }) => url === earlier?.url);
  const way = await dialogue.choose(
    found.length === 0 ? "No broker was found." : "Which broker?",
    [
      ...found.map(
        ({ url, isLocked }) => [url, `${url}${isLocked ? " (wants a user name and password)" : ""}`] as const,
      ),
      ["embedded", "the embedded one, for this computer only (keeps nothing over a restart)"],
      ["other", "another one"],
    ],
    earlier === undefined ? undefined : isAmong ? earlier.url : "other",
  );
  if (way === "embedded") return { type: "embedded" };
  const url =
    way === "other"
      ? await dialogue.ask("Its address", brokerObjection, earlier?.url ?? "mqtt://localhost:1883")
      : way;
  const isLocked = found.find((one) => one.url === url)?.isLocked;
  return await askLogin(dialogue, url, isLocked, earlier?.url === url ? earlier : undefined);
}

async function askLogin(
  dialogue: Dialogue,
  url: string,
  isLocked: boolean | undefined,
  before: External | undefined,
): Promise<BrokerAnswer> {
  const had = before === undefined || before.username !== undefined;
  const hasLogin = isLocked ?? (await dialogue.agreed("Does it want a user name and password?", had));
  if (!hasLogin) return { type: "external", url };
  const username = await dialogue.ask("User name at the broker", notEmpty, before?.username);
  const password = await askSecret(dialogue, "Its password", notEmpty, before?.password);
  return { type: "external", url, username, password };
}

function brokerObjection(address: string): string | null {
  const url = urlOf(address);
  const isUsable =
    url !== null && /^(mqtts?|wss?):$/.test(url.protocol) && url.hostname !== "" && url.username === "";
  return isUsable ? null : "expected an address such as mqtt://localhost:1883, without user and password";
}

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
  const asked = openProbe(
    { url, clientId: probeId("greenhouse2mqtt"), protocolVersion: 5 },
    clock,
    lookMs,
  ).then(async (probe) => {
    if (probe instanceof BrokerProbe) {
      found = { url, isLocked: false };
      await probe.close();
    } else if (probe.kind === "refused") found = { url, isLocked: true };
  });
  // A name that cannot be looked up may take far longer than a connection.
  await cameWithin(clock, lookMs + 500, asked);
  return found;
}
