import { msg, type Text } from "../language/text.js";
import type { z } from "zod";
import { type Draft, isGiven } from "../settings/draft.js";
import { atKey, type Finding, type Path } from "../settings/problem.js";
import { type Parsed, writtenText } from "../settings/values.js";
import type { Message } from "./message.js";
import type { Sent } from "./plan.js";

/* The type of a messaging service. Each service is one file in `services` and one line in `services.ts`. */

/** A service, before a section configures it. */
export interface Service<Section extends z.ZodType = z.ZodType> {
  /** The section under its name in a way of `notify`. */
  readonly key: z.ZodOptional<Section>;
  /** Errors between the keys of its section. */
  readonly errors?: (section: Draft, path: Path) => Finding[];
  /** The service with the settings of a section. */
  messenger(settings: Parsed<Section>): Messenger;
}

/** Infers the types of a service from its section. */
export const service = <Section extends z.ZodType>(one: Service<Section>): Service<Section> => one;

/** A service that takes messages over HTTP, or a mail server. */
export type Messenger = HttpMessenger | MailMessenger;

interface Facts {
  /** The name of the service in messages and in the log. */
  readonly name: string;
  /** Texts that name the user, which a bundle hides: own addresses, hosts and people. */
  readonly private: {
    readonly urls?: readonly string[];
    readonly hosts?: readonly string[];
    readonly users?: readonly (string | undefined)[];
  };
  /** What authorises a message, beside the secrets of the section. */
  readonly secrets?: readonly string[];
}

export interface HttpMessenger extends Facts {
  /** Where messages go; a doubt is raised where it begins with http://. */
  readonly url: string;
  /** `movedTo`: the new address that the service named. */
  readonly request: (message: Message, now: number, movedTo: string | null) => HttpRequest;
  /** Reads an answer of 200; all others mean the same for every service. */
  readonly judge: (body: string) => Sent;
  /** How to write the new address into the configuration. */
  readonly whereabouts?: (movedTo: string) => Text;
}

export interface MailMessenger extends Facts {
  readonly mail: MailSettings;
  /** Settings that work but are probably not wanted, each at a key of the section. */
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

/** Cuts a text to at most so many bytes, without half a character. */
export function cutTo(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, bytes - 3));
  return `${kept.replace(/\ufffd+$/, "")}…`;
}

/* Helpers for the sections of services. */

export const secretText = (what: Text, pattern = /^[!-~]{1,1000}$/) => writtenText(what, pattern);
export const secretExample = (name: string) => ({ example: `!secret ${name}`, secret: true });

/** A login needs both name and password. */
export function loginErrors(section: Draft, path: Path): Finding[] {
  const name = isGiven(section, "username");
  const password = isGiven(section, "password");
  if (name === password) return [];
  const [has, lacks] = name ? ["username", "password"] : ["password", "username"];
  return [atKey([...path, has], msg`"${has}" needs "${lacks}" beside it`)];
}
