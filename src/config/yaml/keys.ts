import { isNode, isScalar, type Scalar } from "yaml";
import { isWellFormed } from "../../runtime/redaction.js";

export type Key =
  | { readonly ok: true; readonly key: string; readonly offset: number | null }
  | { readonly ok: false; readonly message: string; readonly offset: number | null };

/** A key as written (`0012`, `on`), or why it cannot be one. */
export function keyOf(node: unknown): Key {
  const offset = isNode(node) ? (node.range?.[0] ?? null) : null;
  if (!isScalar(node))
    return { ok: false, message: "expected a plain key, not a list, section or alias", offset };
  const key = textOf(node);
  if (node.tag !== undefined || node.anchor !== undefined)
    return { ok: false, message: "tags and anchors are not allowed before a key", offset };
  if (key === "") return { ok: false, message: "expected a key before the colon", offset };
  // Never copied as a key: it would change the object instead of adding to it.
  if (key === "__proto__") return { ok: false, message: "this name cannot be used as a key", offset };
  if (!isWellFormed(key)) return { ok: false, message: halfCharacter, offset };
  return { ok: true, key, offset };
}

/** A scalar as written, without its quotes. */
export const textOf = ({ value, source }: Scalar): string =>
  typeof value === "string" ? value : (source ?? "");

export const halfCharacter =
  "holds half a character (a \\u escape without its other half), which nothing can send; write the whole character";
