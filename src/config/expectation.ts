import type { z } from "zod";
import { suggestion } from "./nearest.js";

type Complaint = Parameters<z.core.$ZodErrorMap>[0];

/** The sentence of a value that is missing or is not what it should be. The value itself is never repeated. */
export function expecting(what: string): z.core.$ZodErrorMap {
  return (complaint) => (complaint.input === undefined ? `missing, expected ${what}` : `expected ${what}`);
}

/** `expected one of a, b, c, did you mean "b"?` */
export function expectingOneOf(words: readonly (string | number)[]): z.core.$ZodErrorMap {
  const say = expecting(words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`);
  const texts = words.map(String);
  return (complaint: Complaint) => {
    const guess = typeof complaint.input === "string" ? suggestion(complaint.input, texts) : "";
    const said = say(complaint);
    return typeof said === "string" ? said + guess : said;
  };
}
