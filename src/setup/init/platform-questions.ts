import type { CredentialAnswer, PlatformAnswer, Secret } from "./answers.js";
import { agreed, askUntil, choose, type Dialogue } from "./dialogue.js";
import { addressObjection, credentialFrom, isOpen, type GivenAnswers } from "./given-answers.js";

export async function askPlatform(dialogue: Dialogue, given: GivenAnswers): Promise<PlatformAnswer> {
  dialogue.say("The platform has two hosts. Their addresses are in the papers of your account.");
  const businessUrl =
    given.businessUrl ?? (await askAddress(dialogue, "Business host, such as https://business.example.com"));
  const realtimeUrl =
    given.realtimeUrl ?? (await askAddress(dialogue, "Realtime host, such as https://realtime.example.com"));
  const allowInsecure =
    given.allowInsecure ??
    ([businessUrl, realtimeUrl].some(isOpen) &&
      (await agreed(dialogue, "http:// lets others read the token on the way. Allow it?", "n")));
  return {
    businessUrl,
    realtimeUrl,
    allowInsecure,
    credential: credentialFrom(given) ?? (await askCredential(dialogue)),
  };
}

/** A bare name means https. */
async function askAddress(dialogue: Dialogue, what: string): Promise<string> {
  const whole = (answer: string) => (answer.includes("://") ? answer : `https://${answer}`);
  const answer = await askUntil(dialogue, what, (given) => addressObjection(whole(given)));
  return whole(answer).replace(/\/+$/, "");
}

async function askCredential(dialogue: Dialogue): Promise<CredentialAnswer> {
  const way = await choose(dialogue, "How does the bridge prove who it is?", [
    ["token", "a token, kept in secrets.yaml (readable by you only)"],
    ["env", "a token in an environment variable; nothing is written"],
    ["file", "a token in a file that something else keeps up to date"],
    ["sign_in", "account and password; the bridge signs in by itself"],
  ]);
  switch (way) {
    case "token":
      return { type: "token", token: await askSecret(dialogue, "Token", tokenObjection) };
    case "env":
      return { type: "token", token: { from: "env", name: await askVariable(dialogue) } };
    case "file":
      return { type: "token_file", path: await askUntil(dialogue, "Path of the file", notEmpty) };
    case "sign_in":
      return await askAccount(dialogue);
  }
}

/** The interface does not name the fields of the sign-in body. */
async function askAccount(dialogue: Dialogue): Promise<CredentialAnswer> {
  const accountField = await askUntil(
    dialogue,
    "Name of the account's field in the sign-in",
    fieldObjection,
    "account",
  );
  const account = await askUntil(dialogue, "Account", notEmpty);
  const passwordField = await askUntil(dialogue, "Name of the password's field", fieldObjection, "password");
  const password = await askSecret(dialogue, "Password", notEmpty);
  return { type: "sign_in", accountField, account, passwordField, password };
}

const askVariable = (dialogue: Dialogue): Promise<string> =>
  askUntil(
    dialogue,
    "Name of the variable",
    (name) => (/^[A-Za-z_]\w{0,199}$/.test(name) ? null : "letters, digits and _"),
    "GREENHOUSE_TOKEN",
  );

export async function askSecret(
  dialogue: Dialogue,
  question: string,
  judge: (answer: string) => string | null,
): Promise<Secret> {
  for (;;) {
    const text = (await dialogue.secret(question)).trim();
    const objection = judge(text);
    if (objection === null) return { from: "secrets", text };
    dialogue.say(objection);
  }
}

const notEmpty = (answer: string): string | null => (answer === "" ? "it cannot be empty" : null);
const fieldObjection = (answer: string): string | null =>
  /^[A-Za-z_][\w-]{0,63}$/.test(answer) ? null : "letters, digits, _ and -";
const tokenObjection = (answer: string): string | null =>
  /^[!-~]{1,8192}$/.test(answer) ? null : 'the token alone, without "Bearer " and without blanks';
