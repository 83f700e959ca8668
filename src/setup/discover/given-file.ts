import { isAbsolute, relative, resolve } from "node:path";
import { isMap, isScalar, type Node, type YAMLMap, YAMLMap as MapNode } from "yaml";
import { readFile, type ReadFile, readYaml } from "../../config/load.js";
import type { Path } from "../../config/problem.js";
import { type Configuration, configurationSchema, controllerTopicId } from "../../config/schema.js";
import { readDocument } from "../../config/yaml/read-document.js";
import { pathKey, type Source } from "../../config/yaml/source.js";
import { commentText, environmentReference, keyText, withoutComments } from "./text.js";

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
  return { sections: new Map(sections), replaced };
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

export const nameOf = (key: unknown): string => {
  if (!isScalar(key)) return "";
  return typeof key.value === "string" ? key.value : (key.source ?? "");
};

/** An empty section where the file has none, or something else under the key. */
export const sectionIn = (parent: Node | null | undefined, key: string): YAMLMap => {
  const found = isMap(parent) ? parent.items.find((pair) => nameOf(pair.key) === key)?.value : undefined;
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

/** What a configuration says about one controller already. */
export interface KnownController {
  readonly actuatorIds: ReadonlySet<string>;
  readonly parameterIds: ReadonlySet<string>;
  /** Addresses in use, and those its comments name. */
  readonly addresses: ReadonlySet<string>;
}

/** What is not new. */
export interface KnownFile {
  readonly controllers: ReadonlyMap<string, KnownController>;
  readonly topicIds: ReadonlySet<string>;
  /** Whether the file's comments name a device that has no entry, such as a camera. */
  readonly mentions: (code: string) => boolean;
}

type Controllers = Configuration["controllers"];

/** `text` is the file's own, where its comments count as well: what stands there in a comment was seen and left out. */
export function knownFile(controllers: Controllers, text = ""): KnownFile {
  const comments = commentsByController(text, Object.keys(controllers));
  const entries = Object.entries(controllers);
  const lines = text.split(/\r?\n/).flatMap((line) => commentIn(line) ?? []);
  const words = new Set(lines.flatMap((line) => line.match(/[A-Za-z0-9._-]+/g) ?? []));
  // A code that is a word is found as a whole only: `GH-1` is not mentioned by `GH-10`.
  const isWord = (code: string) => /^[A-Za-z0-9._-]+$/.test(code);
  return {
    controllers: new Map(
      entries.map(([code, section]) => [code, knownController(section, comments.get(code) ?? "")]),
    ),
    topicIds: new Set(entries.map(([code, { id }]) => id ?? controllerTopicId(code))),
    mentions: (code) =>
      words.has(code) || (!isWord(code) && lines.some((line) => line.includes(commentText(code)))),
  };
}

function knownController({ actuators, parameters }: Controllers[string], comments: string): KnownController {
  const used = Object.values(actuators).flatMap(({ address, mode_address, position_address, stop }) => [
    ...[address, mode_address, position_address, stop?.address],
  ]);
  const named = Array.from(
    comments.matchAll(/\baddress:? (["']?)([A-Za-z0-9._-]{1,64})\1/g),
    (found) => found[2],
  );
  const addresses = [...used, ...Object.values(parameters).map(({ address }) => address), ...named];
  return {
    actuatorIds: new Set(Object.keys(actuators)),
    parameterIds: new Set(Object.keys(parameters)),
    addresses: new Set(addresses.filter((address) => address !== undefined)),
  };
}

const commentIn = (line: string): string | undefined => /(?:^|\s)#(.*)$/.exec(line)?.[1];

/** The comments below each controller's key, up to the next one's. */
function commentsByController(text: string, codes: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const known = new Map(codes.flatMap((code) => spellings(code).map((key) => [key, code] as const)));
  let code: string | null = null;
  for (const line of text.split(/\r?\n/)) {
    const [, key = ""] = /^\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'].*?)\s*:(?:\s|$)/.exec(line) ?? [];
    code = known.get(key) ?? code;
    const comment = commentIn(line);
    if (code !== null && comment !== undefined) found.set(code, `${found.get(code) ?? ""}\n${comment}`);
  }
  return found;
}

/** How a key may stand in a file: as it is, quoted by a person, or as `discover` writes it. */
const spellings = (code: string): readonly string[] => [
  code,
  JSON.stringify(code),
  `'${code.replaceAll("'", "''")}'`,
  keyText(code),
];

/** Keys whose relative paths start at the configuration's own folder. */
const pathKeys: readonly (readonly [section: string, ...path: string[]])[] = [
  ["platform", "token_file"],
  ...["ca", "cert", "key"].map((key) => ["mqtt", "tls", key] as [string, ...string[]]),
  ...["cert", "key"].map((key) => ["broker", "tls", key] as [string, ...string[]]),
];

/** Rewrites the paths of a file that is going to lie in another folder, so that they lead to the same files. */
export function movePaths({ sections }: GivenFile, from: string, to: string): void {
  if (resolve(from) === resolve(to)) return;
  for (const [name, ...path] of pathKeys) {
    const section = sections.get(name);
    const node = isMap(section) ? section.getIn(path, true) : undefined;
    const isPath = isScalar(node) && node.tag === undefined && typeof node.value === "string";
    if (isPath && !isAbsolute(String(node.value)))
      node.value = relative(to, resolve(from, String(node.value)));
  }
}
