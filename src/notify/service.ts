import { msg, type Text } from "../language/text.js";
import type { z } from "zod";
import { type Draft, isGiven } from "../settings/draft.js";
import { atKey, type Finding, type Path } from "../settings/problem.js";
import { type Parsed, writtenText } from "../settings/values.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";

/* What a service is that takes messages. Each is one file in `services` and one line in `services.ts`. */

/** A service, before anybody has filled in its section. */
export interface Service<Section extends z.ZodType = z.ZodType> {
  /** What stands under its name in a way of `notify`. */
  readonly key: z.ZodOptional<Section>;
  /** What is wrong between the keys of its section. */
  readonly errors?: (section: Draft, path: Path) => Finding[];
  /** The service as a section of the configuration uses it. */
  messenger(settings: Parsed<Section>): Messenger;
}

/** Has the types of a service follow from its section. */
export const service = <Section extends z.ZodType>(one: Service<Section>): Service<Section> => one;

/** One that takes messages over HTTP, or a mail server. */
export type Messenger = HttpMessenger | MailMessenger;

interface Facts {
  /** As messages and the log call it. */
  readonly name: string;
  /** What says whose it is, which a bundle hides: addresses and hosts of one's own, and people. */
  readonly private: {
    readonly urls?: readonly string[];
    readonly hosts?: readonly string[];
    readonly users?: readonly (string | undefined)[];
  };
  /** What lets a message in, beside what the section calls secret. */
  readonly secrets?: readonly string[];
}

export interface HttpMessenger extends Facts {
  /** Where messages go; one that begins with http:// is warned about. */
  readonly url: string;
  /** `movedTo`: where the service said that its readers are now. */
  readonly request: (message: Message, now: number, movedTo: string | null) => HttpRequest;
  /** Reads an answer of 200; others are the same everywhere. */
  readonly judge: (body: string) => Sent;
  /** How to write where the readers are now. */
  readonly whereabouts?: (movedTo: string) => Text;
}

export interface MailMessenger extends Facts {
  readonly mail: MailSettings;
  /** What works but is probably not wanted, each at a key of the section. */
  readonly doubts: readonly (readonly [key: string, sentence: Text])[];
}

export interface MailSettings {
  readonly host: string;
  readonly port: number;
  readonly encryption: "starttls" | "tls" | "none";
  readonly reject_unauthorized: boolean;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly from: string;
  readonly to: readonly string[];
}

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const post = (url: string, body: object, headers: HttpRequest["headers"] = {}): HttpRequest => ({
  url,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(body),
});

const marks = {
  alarm: "⚠️",
  flood: "🚨",
  cleared: "✅",
  missed: "🕑",
  test: "🔔",
  happened: "ℹ️",
  daily: "📋",
} as const;
export const plainText = (message: Message): string =>
  `${marks[message.kind]} ${message.title}\n${message.text}`;

/** At most so many bytes, without half a character. */
export function cutTo(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, bytes - 3));
  return `${kept.replace(/\ufffd+$/, "")}…`;
}

/* Of sections. */

export const secretText = (what: Text, pattern = /^[!-~]{1,1000}$/) => writtenText(what, pattern);
export const secretExample = (name: string) => ({ example: `!secret ${name}`, secret: true });

/** A login has both. */
export function loginErrors(section: Draft, path: Path): Finding[] {
  const name = isGiven(section, "username");
  const password = isGiven(section, "password");
  if (name === password) return [];
  const [has, lacks] = name ? ["username", "password"] : ["password", "username"];
  return [atKey([...path, has], msg`"${has}" needs "${lacks}" beside it`)];
}
