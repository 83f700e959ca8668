import { msg, TextError } from "../../language/text.js";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { isMap, isNode, isScalar, isSeq, parseDocument, Scalar, visit, YAMLMap } from "yaml";
import { readFile, type ReadFile, readSecrets, readYaml } from "../../config/load.js";
import type { Path } from "../../settings/problem.js";
import { type Configuration, configurationSchema } from "../../config/schema.js";
import { controllerTopicId } from "../../settings/controllers.js";
import { readDocument } from "../../config/yaml/read-document.js";
import { pathKey, type Source } from "../../config/yaml/source.js";
import { commentText, keyOf } from "../../saving/yaml-text.js";

/** A secret of the given file, and the variable or name in `secrets.yaml` that replaces it in the text. */
export interface ReplacedSecret {
  readonly path: Path;
  readonly tag: "!env" | "!secret";
  readonly name: string;
  /** As it has to be written there. */
  readonly value: string;
  /** It comes from another folder's `secrets.yaml`; the file itself held no secret. */
  readonly isCopy: boolean;
}

/** A configuration file as written, without comments and secrets. */
export interface GivenFile {
  readonly root: YAMLMap;
  readonly replaced: readonly ReplacedSecret[];
}

/** Where the text will be. */
interface Destination {
  readonly folder: string;
  /** Names in the `secrets.yaml` there; null if secrets cannot go there, and environment variables replace them. */
  readonly taken: ReadonlySet<string> | null;
}

/** Reads a file that `loadConfiguration` accepted; rejects if it can no longer be read. */
export async function readGivenFile(
  file: string,
  { folder, taken }: Destination = { folder: dirname(file), taken: null },
  read: ReadFile = readFile,
): Promise<GivenFile> {
  const found = await readYaml(file, read);
  if (!found.ok || !isMap(found.source.root))
    throw new TextError(msg`${file} changed while it was read; try again`);
  const root = found.source.root as YAMLMap;
  const isMoved = resolve(folder) !== resolve(dirname(file));
  const replaced = replacedIn(root, taken, [
    ...literalSecrets(found.source, root),
    ...(isMoved ? await secretsElsewhere(file, found.source, root, read) : []),
  ]);
  // A comment may hold an old password.
  visit(root, {
    Node: (_key, node) =>
      void Object.assign(node, { comment: null, commentBefore: null, spaceBefore: false }),
  });
  for (const { path, tag, name } of replaced) root.setIn(path, Object.assign(new Scalar(name), { tag }));
  return { root, replaced };
}

/** The section under a key; an empty one if there is none, or something else. */
export const sectionIn = (parent: unknown, key: string): YAMLMap => {
  const found = isMap(parent) ? parent.items.find((pair) => keyOf(pair.key) === key)?.value : undefined;
  return isMap(found) ? found : new YAMLMap();
};

/** What a sign-in body usually has beside secrets; anything else in it may be one. */
export const harmless =
  /^(?:account|user|user_?name|e?mail|phone|mobile|login|tenant(?:_?id)?|client_?id|grant_?type|type|scope|lang(?:uage)?|remember(?:_?me)?)$/i;

const tokenKey = pathKey(["platform", "token"]);

type FoundSecret = Pick<ReplacedSecret, "path" | "value" | "isCopy">;

function literalSecrets(source: Source, root: YAMLMap): readonly FoundSecret[] {
  const references = { env: {}, secrets: { ok: false, message: null } } as const;
  const { literalSecrets: known } = readDocument(source, configurationSchema, references);
  const body = ["platform", "sign_in", "body"] as const;
  const inBody = scalarsIn(root.getIn(body, true), body).filter(
    (path) => !harmless.test(String(path.at(-1))),
  );
  const paths = new Map([...known, ...inBody].map((path) => [pathKey(path), path]));
  return [...paths.values()].flatMap((path) => {
    const node = root.getIn(path, true);
    const isLiteral = isScalar(node) && node.tag !== "!env" && node.tag !== "!secret";
    return isLiteral ? [{ path, value: textOf(node), isCopy: false }] : [];
  });
}

const textOf = (node: Scalar): string =>
  typeof node.value === "string" ? JSON.stringify(node.value) : (node.source ?? "");

/** Secrets that a file takes from the `secrets.yaml` beside it. */
async function secretsElsewhere(
  file: string,
  source: Source,
  root: YAMLMap,
  read: ReadFile,
): Promise<readonly FoundSecret[]> {
  const { secrets } = await readSecrets(file, source.text, read);
  return scalarsIn(root, []).flatMap((path) => {
    const node = root.getIn(path, true);
    if (!secrets.ok || !isScalar(node) || node.tag !== "!secret") return [];
    const value = secrets.values.get(String(node.value));
    return isScalar(value) ? [{ path, value: textOf(value), isCopy: true }] : [];
  });
}

function replacedIn(
  root: YAMLMap,
  taken: ReadonlySet<string> | null,
  found: readonly FoundSecret[],
): readonly ReplacedSecret[] {
  const names = new Set(taken);
  const copies = new Map<string, string>();
  return found.map(({ path, value, isCopy }) => {
    // A token becomes a variable in every written file, as it is changed from outside.
    const isVariable = taken === null || (!isCopy && pathKey(path) === tokenKey);
    const tag = isVariable ? "!env" : "!secret";
    const former = isCopy && !isVariable ? String(root.getIn(path)) : null;
    const name =
      (former === null ? undefined : copies.get(former)) ??
      freeName(former ?? (isVariable ? variableFor(path) : secretFor(path)), names);
    names.add(name);
    if (former !== null) copies.set(former, name);
    return { path, tag, name, value, isCopy };
  });
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted;
  for (let other = 2; taken.has(name); other += 1) name = `${wanted}_${other}`;
  return name;
}

/** The paths of all texts and numbers below a node. */
function scalarsIn(node: unknown, path: Path): readonly Path[] {
  if (isMap(node)) return node.items.flatMap(({ key, value }) => scalarsIn(value, [...path, keyOf(key)]));
  if (isSeq(node)) return node.items.flatMap((item, at) => scalarsIn(item, [...path, at]));
  return isScalar(node) && typeof node.value !== "boolean" && node.value !== null ? [path] : [];
}

const wordsOf = (path: Path): string =>
  path
    .map((part) => (typeof part === "number" ? String(part + 1) : part.replace(/[^A-Za-z0-9]+/g, "_")))
    .join("_");

/** `GREENHOUSE_TOKEN`, `GREENHOUSE_MQTT_PASSWORD`, `GREENHOUSE_BROKER_USERS_1_PASSWORD`. */
const variableFor = (path: Path): string =>
  `GREENHOUSE_${wordsOf(path.filter((part) => part !== "platform")).toUpperCase()}`;

/** `platform_token`, `mqtt_password`, `broker_users_1_password`. */
const secretFor = (path: Path): string => wordsOf(path).toLowerCase();

/** Lines for the `secrets.yaml` beside the text; empty if none are needed. */
export const secretLinesOf = (replaced: readonly ReplacedSecret[]): string =>
  [
    ...new Set(
      replaced.filter(({ tag }) => tag === "!secret").map(({ name, value }) => `${name}: ${value}\n`),
    ),
  ].join("");

/** What a configuration already says about one controller. */
export interface KnownController {
  readonly actuatorIds: ReadonlySet<string>;
  readonly parameterIds: ReadonlySet<string>;
  /** Addresses in use, and those that its comments name. */
  readonly addresses: ReadonlySet<string>;
}

/** What a file has already, so that it is not new. */
export interface KnownFile {
  readonly controllers: ReadonlyMap<string, KnownController>;
  readonly topicIds: ReadonlySet<string>;
  /** Whether the file's comments name a device without an entry, such as a camera. */
  readonly mentions: (code: string) => boolean;
}

type Controllers = Configuration["controllers"];

/** `text`: the file's text. What a comment names was seen and left out, so it counts as known. */
export function knownFile(controllers: Controllers, text = ""): KnownFile {
  const entries = Object.entries(controllers);
  const ownText = textsOfControllers(text);
  const comments = commentsIn(text);
  const words = new Set(comments.match(/[A-Za-z0-9._-]+/g));
  // A code that is one word must match as a whole: `GH-10` does not mention `GH-1`.
  const isWord = (code: string) => /^[A-Za-z0-9._-]+$/.test(code);
  return {
    controllers: new Map(
      entries.map(([code, section]) => [code, knownController(section, commentsIn(ownText.get(code) ?? ""))]),
    ),
    topicIds: new Set(entries.map(([code, { id }]) => id ?? controllerTopicId(code))),
    mentions: (code) => (isWord(code) ? words.has(code) : comments.includes(commentText(code))),
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

const commentsIn = (text: string): string => (text.match(/(?<=^|\s)#.*$/gm) ?? []).join("\n");

/** The text of each controller's entry, from its key to the next. */
function textsOfControllers(text: string): ReadonlyMap<string, string> {
  const { items } = sectionIn(parseDocument(text).contents, "controllers");
  const starts = items.map(({ key }) => (isNode(key) ? key.range?.[0] : undefined) ?? 0);
  return new Map(items.map(({ key }, at) => [keyOf(key), text.slice(starts[at], starts[at + 1])]));
}

/** Keys whose relative paths begin at the configuration's own folder. */
const pathKeys: readonly Path[] = [
  ["data_dir"],
  ["platform", "token_file"],
  ...["ca", "cert", "key"].map((key) => ["mqtt", "tls", key]),
  ...["cert", "key"].map((key) => ["broker", "tls", key]),
];

/** Rewrites the paths of a file that moves to another folder, so that they lead to the same files. */
export function movePaths({ root }: GivenFile, from: string, to: string): void {
  if (resolve(from) === resolve(to)) return;
  for (const path of pathKeys) {
    const node = root.getIn(path, true);
    const isPath = isScalar(node) && node.tag === undefined && typeof node.value === "string";
    if (isPath && !isAbsolute(String(node.value)))
      node.value = relative(to, resolve(from, String(node.value)));
  }
}
