import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { resolveReference, secretsIn } from "../config/yaml/references.js";
import { parseSource } from "../config/yaml/source.js";
import { isPasswordHash } from "../runtime/passwords.js";
import type { Path } from "../settings/problem.js";
import { keyText } from "./key.js";
import { isSecretAt, isTextAt } from "./schema-at.js";

/* What stands in a configuration, value by value, and where each comes from. */

export interface GivenValue {
  /** Absent of a secret, and of what cannot be read. */
  readonly value?: string | number | boolean;
  readonly from: "file" | "environment" | "secret";
  /** Of the variable or the secret. */
  readonly name?: string;
  readonly line: number;
  readonly isSecret?: true;
  /** Where it stands in the text, for whoever leaves it out. */
  readonly span?: readonly [from: number, to: number];
}

interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secretsFile: string;
  /** Null where there is no such file. */
  readonly secretsText: string | null;
}

const tags = ["!env", "!secret"].map((tag) => ({ tag, resolve: (name: string) => name }));

/** By key, in the order of the file; sections without anything in them stand for themselves with no value. */
export function given(text: string, sources: Sources): Readonly<Record<string, GivenValue>> {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    lineCounter: lines,
    customTags: tags,
  });
  const found: Record<string, GivenValue> = {};
  const resolve = resolver(sources);
  const look = (node: unknown, path: Path): void => {
    if (isMap(node))
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? (typeof key.value === "string" ? key.value : (key.source ?? "")) : null;
        if (name !== null && name !== "__proto__") look(value, [...path, name]);
      }
    else if (isSeq(node)) for (const [at, item] of node.items.entries()) look(item, [...path, at]);
    else if (isScalar(node) && node.value !== null && path.length > 0) {
      const span = [node.range?.[0] ?? 0, node.range?.[1] ?? 0] as const;
      const { line } = lines.linePos(span[0]);
      const tag = node.tag === "!env" || node.tag === "!secret" ? node.tag : null;
      const written = typeof node.value === "string" ? node.value : (node.source ?? "");
      const value = isTextAt(path) ? written : (node.value as string | number | boolean);
      const isSecret = isSecretAt(path) && !(tag === null && isPasswordHash(written));
      found[keyText(path)] =
        tag === null
          ? { from: "file", line, span, ...(isSecretAt(path) ? { isSecret: true } : { value }) }
          : { ...resolve(tag, written, isSecret), line, span };
    }
  };
  look(document.contents, []);
  return found;
}

function resolver({ env, secretsFile, secretsText }: Sources) {
  const parsed = secretsText === null ? null : parseSource(secretsText);
  const secrets =
    parsed?.ok === true ? secretsIn(parsed.source, secretsFile) : ({ ok: false, message: null } as const);
  return (tag: "!env" | "!secret", name: string, isSecret: boolean): Omit<GivenValue, "line"> => {
    const from = tag === "!env" ? "environment" : "secret";
    // Whatever stands in the file of secrets is one.
    if (isSecret || tag === "!secret") return { from, name, isSecret: true };
    const resolved = resolveReference(tag, name, { env, secrets });
    const value = resolved.ok && isScalar(resolved.node) ? resolved.node.value : null;
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      ? { from, name, value }
      : { from, name };
  };
}
