import type { z } from "zod";
import type { Finding, Path } from "./problem.js";

type Issue = z.core.$ZodIssue;

/** zod's issues as findings. The sentences come from the schema itself; this only settles which of them to show. */
export function findingsOf(issues: readonly Issue[], above: Path = []): Finding[] {
  return issues.flatMap((issue) => {
    const path = [...above, ...issue.path.map((part) => (typeof part === "symbol" ? String(part) : part))];
    if (issue.code === "invalid_key")
      return { path, on: "key", message: issue.issues[0]?.message ?? issue.message };
    if (issue.code === "invalid_union") return fromUnion(issue, path);
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key): Finding => ({ path: [...path, key], on: "key", message: "unknown key" }));
    return { path, on: "value", message: issue.message };
  });
}

/** Of the alternatives, the one whose overall form was right (a section for a section); else the union's sentence. */
function fromUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path): Finding[] {
  const close = issue.errors.find((issues) => issues.every((inner) => inner.path.length > 0));
  return close === undefined ? [{ path, on: "value", message: issue.message }] : findingsOf(close, path);
}
