import { isMap, isScalar, type Node, type YAMLMap, YAMLMap as MapNode } from "yaml";
import { readFile, type ReadFile } from "../../config/files.js";
import { readYaml } from "../../config/read-text.js";
import { configurationSchema } from "../../config/schema.js";
import { pathKey } from "../../config/yaml/places.js";
import { readDocument } from "../../config/yaml/read-document.js";
import type { Source } from "../../config/yaml/source.js";
import type { Path } from "../../config/problem.js";
import { environmentReference, withoutComments } from "./yaml-lines.js";

/** A secret that stood in the file, and the environment variable that stands for it in what is written. */
export interface ReplacedSecret {
  readonly path: Path;
  readonly variable: string;
  /** As the variable would have to be set. */
  readonly value: string;
}

/** A configuration file as it was written, without comments and without secrets. */
export interface GivenFile {
  readonly sections: ReadonlyMap<string, Node | null>;
  readonly replaced: readonly ReplacedSecret[];
  readonly usesSecretsFile: boolean;
}

/** Reads a file that `loadConfiguration` took; rejects where it can no longer be read. */
export async function readGivenFile(file: string, read: ReadFile = readFile): Promise<GivenFile> {
  const found = await readYaml(file, read);
  if (!found.ok || !isMap(found.source.root)) throw new Error(`${file} changed while it was read; try again`);
  const root = found.source.root as YAMLMap;
  const replaced = literalSecrets(found.source, root);
  withoutComments(root);
  for (const { path, variable } of replaced) root.setIn(path, environmentReference(variable));
  const sections = root.items.map(({ key, value }) => [nameOf(key), isNode(value) ? value : null] as const);
  return {
    sections: new Map(sections),
    replaced,
    usesSecretsFile: found.source.text.includes("!secret"),
  };
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

export const nameOf = (key: unknown): string => {
  if (!isScalar(key)) return "";
  return typeof key.value === "string" ? key.value : (key.source ?? "");
};

/** An empty section where the file has none, or something else under the key. */
export const sectionIn = (parent: YAMLMap | null, key: string): YAMLMap => {
  const found = parent?.items.find((pair) => nameOf(pair.key) === key)?.value;
  return isMap(found) ? found : new MapNode();
};

/** What a sign-in body usually holds besides secrets; everything else in it may be one. */
const harmless =
  /^(?:account|user|user_?name|e?mail|phone|mobile|login|tenant(?:_?id)?|client_?id|grant_?type|type|scope|lang(?:uage)?|remember(?:_?me)?)$/i;

function literalSecrets(source: Source, root: YAMLMap): readonly ReplacedSecret[] {
  const references = { env: {}, secrets: { ok: false, message: null } } as const;
  const { literalSecrets: known } = readDocument(source, configurationSchema, references);
  const body = ["platform", "sign_in", "body"] as const;
  const paths = new Map(
    [...known, ...scalarsIn(root.getIn(body, true), body).filter((path) => !isHarmless(path))].map((path) => [
      pathKey(path),
      path,
    ]),
  );
  const variables = new Set<string>();
  return [...paths.values()].flatMap((path) => {
    const node = root.getIn(path, true);
    if (!isScalar(node) || node.tag === "!env" || node.tag === "!secret") return [];
    const variable = free(variableFor(path), variables);
    const value = typeof node.value === "string" ? JSON.stringify(node.value) : (node.source ?? "");
    return [{ path, variable, value }];
  });
}

const isHarmless = (path: Path): boolean => harmless.test(String(path.at(-1)));

/** Paths of all texts and numbers below a node. */
function scalarsIn(node: unknown, path: Path): readonly Path[] {
  if (isMap(node)) return node.items.flatMap(({ key, value }) => scalarsIn(value, [...path, nameOf(key)]));
  if (isScalar(node)) return typeof node.value === "boolean" || node.value === null ? [] : [path];
  const items: unknown = typeof node === "object" && node !== null && "items" in node ? node.items : [];
  return Array.isArray(items) ? items.flatMap((item, at) => scalarsIn(item, [...path, at])) : [];
}

/** `GREENHOUSE_TOKEN`, `GREENHOUSE_MQTT_PASSWORD`, `GREENHOUSE_BROKER_USERS_1_PASSWORD`. */
function variableFor(path: Path): string {
  const parts = path
    .filter((part) => part !== "platform")
    .map((part) => (typeof part === "number" ? String(part + 1) : part.replace(/[^A-Za-z0-9]+/g, "_")));
  return `GREENHOUSE_${parts.join("_").toUpperCase()}`;
}

function free(name: string, used: Set<string>): string {
  let candidate = name;
  for (let other = 2; used.has(candidate); other += 1) candidate = `${name}_${other}`;
  used.add(candidate);
  return candidate;
}
