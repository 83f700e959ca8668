import { isMap, isScalar, type Node } from "yaml";
import { suggestion } from "../nearest.js";
import { scalarOfText } from "./scalar-text.js";
import type { Source } from "./source.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The file of secrets: its values by name, or why there are none (null: already reported). */
export type Secrets =
  | { readonly ok: true; readonly file: string; readonly values: ReadonlyMap<string, Node | null> }
  | { readonly ok: false; readonly message: string | null };

export interface ReferenceSources {
  readonly env: Environment;
  readonly secrets: Secrets;
}

export type Resolved =
  { readonly ok: true; readonly node: Node } | { readonly ok: false; readonly message: string | null };

const fault = (message: string | null): Resolved => ({ ok: false, message });

/** What `!env name` or `!secret name` stands for. Messages name the variable or secret, never its value. */
export function resolveReference(tag: "!env" | "!secret", name: string, sources: ReferenceSources): Resolved {
  if (!/^[^\s\p{Cc}]{1,200}$/u.test(name)) return fault(`expected a name after ${tag}`);
  return tag === "!env" ? variable(name, sources.env) : secret(name, sources.secrets);
}

function variable(name: string, env: Environment): Resolved {
  const text = Object.hasOwn(env, name) ? env[name] : undefined;
  if (text === undefined) return fault(`the environment variable ${name} is not set`);
  const node = scalarOfText(text);
  return node.value === null ? fault(`the environment variable ${name} is empty`) : { ok: true, node };
}

function secret(name: string, secrets: Secrets): Resolved {
  if (!secrets.ok) return fault(secrets.message);
  const node = secrets.values.get(name);
  if (node === undefined)
    return fault(
      `there is no secret "${name}" in ${secrets.file}${suggestion(name, [...secrets.values.keys()])}`,
    );
  if (node === null || (isScalar(node) && node.value === null))
    return fault(`the secret "${name}" in ${secrets.file} is empty`);
  return { ok: true, node };
}

/** The names at the top of a secrets file, or what is wrong with it. */
export function secretsIn(source: Source, file: string): Secrets {
  if (source.root === null || (isScalar(source.root) && source.root.value === null))
    return { ok: true, file, values: new Map() };
  if (!isMap(source.root)) return { ok: false, message: `${file} is not a list of "name: value" lines` };
  const values = new Map<string, Node | null>();
  for (const { key, value } of source.root.items) {
    const name = isScalar(key) ? key.source : null;
    if (name !== null && !values.has(name)) values.set(name, value);
  }
  return { ok: true, file, values };
}
