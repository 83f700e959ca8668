import type { Query } from "../../greenhouse/ports.js";
import type { RawAnswer } from "./answers.js";
import { scrubbed, type ScrubBook } from "./scrub.js";

const format = "greenhouse2mqtt answer 1";

/** An answer as a file that may be passed on: scrubbed, with what a decoder needs beside it. */
export function fixtureText(answer: RawAnswer, timeZone: string, book: ScrubBook): string {
  const { operation, query, receivedAt, body } = answer;
  const fixture = {
    format,
    operation,
    query: scrubbed(query, operation, book),
    received_at: new Date(receivedAt).toISOString(),
    time_zone: timeZone,
    body: scrubbed(body, operation, book),
  };
  return `${JSON.stringify(fixture, null, 1)}\n`;
}

/** The answer in such a file, with the zone it is to be read in; null when it is none. */
export function answerOf(text: string): { readonly answer: RawAnswer; readonly timeZone: string } | null {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null) return null;
  const fields = new Map<string, unknown>(Object.entries(parsed));
  const [operation, receivedAt, timeZone] = ["operation", "received_at", "time_zone"].map((name) =>
    fields.get(name),
  );
  if (fields.get("format") !== format || typeof operation !== "string") return null;
  if (typeof receivedAt !== "string" || typeof timeZone !== "string") return null;
  const query: Record<string, string> = {};
  const given = fields.get("query");
  for (const [name, value] of Object.entries(typeof given === "object" && given !== null ? given : {}))
    if (typeof value === "string") query[name] = value;
  const asked: Query = query;
  return {
    answer: { operation, query: asked, receivedAt: Date.parse(receivedAt), body: fields.get("body") },
    timeZone,
  };
}
