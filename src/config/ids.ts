import { deviceCodePattern } from "../greenhouse/device-code.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { expecting } from "./expectation.js";
import { text } from "./values.js";
import { z } from "zod";

const idRule = 'an id of a-z, 0-9, "_" and "-" (at most 64)';

export const topicId = () => text(idRule, topicIdPattern);

/** The same as the key of a map, with an example made from what was written. */
export const idKey = () =>
  z.string().regex(topicIdPattern, { error: (issue) => `expected ${idRule}${likeThis(issue.input)}` });

function likeThis(key: unknown): string {
  if (typeof key !== "string") return "";
  const cleaned = key
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 64);
  return cleaned === "" ? "" : `, such as "${cleaned}"`;
}

export const deviceCode = () =>
  z.string().regex(deviceCodePattern, {
    error: expecting("a device code as the platform writes it (at most 64 characters, no blanks around it)"),
  });
