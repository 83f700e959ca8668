import { isScalar, Scalar } from "yaml";
import { parseSource } from "./source.js";

const quoted = /^(?:"[^]*"|'[^]*')$/;
const typed =
  /^(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?(?:\.\d+|\d[\d._a-fA-FxoeE+-]*)|[-+]?\.inf|\.nan)$/;

/**
 * The text of an environment variable as the YAML scalar it would be in the file: `5` a number, `"5"` text. Whatever
 * is no scalar there (`a: b`, `[x`, `#1`) stays text, because a password may look like anything.
 */
export function scalarOfText(text: string): Scalar {
  const trimmed = text.trim();
  if (trimmed === "") return new Scalar(null);
  if (quoted.test(trimmed) || typed.test(trimmed)) {
    const parsed = parseSource(trimmed);
    if (parsed.ok && isScalar(parsed.source.root)) return parsed.source.root;
  }
  return new Scalar(trimmed);
}
