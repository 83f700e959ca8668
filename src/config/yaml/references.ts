import { msg, type Text } from "../../language/text.js";
import { isMap, isScalar, type Node, Scalar } from "yaml";
import { suggestion } from "../../runtime/similar-words.js";
import { parseSource, type Source } from "./source.js";

/* Resolves `!env NAME` and `!secret name`. */

const quoted = /^(?:"[^]*"|'[^]*')$/;
const typed =
  /^(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?(?:\.\d+|\d[\d._a-fA-FxoeE+-]*)|[-+]?\.inf|\.nan)$/;

/**
 * The text of an environment variable as the YAML scalar it would be in the file: `5` a number, `"5"` text. Anything
 * else (`a: b`, `[x`, `#1`) stays text, because a password may look like anything.
 */
function scalarOfText(text: string): Scalar {
  const trimmed = text.trim();
  if (trimmed === "") return new Scalar(null);
  if (quoted.test(trimmed) || typed.test(trimmed)) {
    const parsed = parseSource(trimmed);
    if (parsed.ok && isScalar(parsed.source.root)) return parsed.source.root;
  }
  return new Scalar(trimmed);
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The file of secrets: its values by name, or why there are none (null: already reported). */
export type Secrets =
  | { readonly ok: true; readonly file: string; readonly values: ReadonlyMap<string, Node | null> }
  | { readonly ok: false; readonly message: Text | null };

export interface ReferenceSources {
  readonly env: Environment;
  readonly secrets: Secrets;
}

type Resolved =
  { readonly ok: true; readonly node: Node } | { readonly ok: false; readonly message: Text | null };

const fault = (message: Text | null): Resolved => ({ ok: false, message });

/** What `!env name` or `!secret name` stands for. Messages name the variable or secret, never its value. */
export function resolveReference(tag: "!env" | "!secret", name: string, sources: ReferenceSources): Resolved {
  if (!/^[^\s\p{Cc}]{1,200}$/u.test(name)) return fault(msg`expected a name after ${tag}`);
  if (tag === "!secret") return secret(name, sources.secrets);
  const text = Object.hasOwn(sources.env, name) ? sources.env[name] : undefined;
  if (text === undefined) return fault(msg`the environment variable ${name} is not set`);
  const node = scalarOfText(text);
  return node.value === null ? fault(msg`the environment variable ${name} is empty`) : { ok: true, node };
}

function secret(name: string, secrets: Secrets): Resolved {
  if (!secrets.ok) return fault(secrets.message);
  const node = secrets.values.get(name);
  if (node === undefined)
    return fault(
      msg`there is no secret "${name}" in ${secrets.file}${suggestion(name, [...secrets.values.keys()])}`,
    );
  if (node === null || (isScalar(node) && node.value === null))
    return fault(msg`the secret "${name}" in ${secrets.file} is empty`);
  return { ok: true, node };
}

/** The names at the top level of a secrets file, or what is wrong with it. */
export function secretsIn(source: Source, file: string): Secrets {
  if (source.root === null || (isScalar(source.root) && source.root.value === null))
    return { ok: true, file, values: new Map() };
  if (!isMap(source.root)) return { ok: false, message: msg`${file} is not a list of "name: value" lines` };
  const values = new Map<string, Node | null>();
  for (const { key, value } of source.root.items) {
    const name = isScalar(key) ? key.source : null;
    if (name === null) continue;
    // Nobody knows which of two is meant, the old password or the new one.
    if (values.has(name)) return { ok: false, message: msg`${file} has "${name}" twice; keep one of them` };
    values.set(name, value);
  }
  return { ok: true, file, values };
}
