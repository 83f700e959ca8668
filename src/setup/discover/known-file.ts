import { controllerTopicId } from "../../config/controller-topic-id.js";
import type { Configuration } from "../../config/schema.js";
import { commentText } from "./safe-text.js";
import { keyText } from "./yaml-lines.js";

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

type Section = Configuration["controllers"][string];

/** `text` is the file's own, where its comments count as well: what stands there in a comment was seen and left out. */
export function knownFile(configuration: Configuration, text = ""): KnownFile {
  const comments = commentsByController(text, Object.keys(configuration.controllers));
  const controllers = Object.entries(configuration.controllers).map(
    ([code, section]) => [code, knownController(section, comments.get(code) ?? "")] as const,
  );
  const ids = Object.entries(configuration.controllers).map(
    ([code, { id }]) => id ?? controllerTopicId(code),
  );
  const lines = commentLines(text);
  const words = new Set(lines.flatMap((line) => line.match(/[A-Za-z0-9._-]+/g) ?? []));
  return {
    controllers: new Map(controllers),
    topicIds: new Set(ids),
    mentions: (code) =>
      words.has(code) || (!isWord(code) && lines.some((line) => line.includes(commentText(code)))),
  };
}

/** A code that is found in a comment as a whole only: `GH-1` is not mentioned by `GH-10`. */
const isWord = (code: string): boolean => /^[A-Za-z0-9._-]+$/.test(code);

function knownController({ actuators, parameters }: Section, comments: string): KnownController {
  const used = Object.values(actuators).flatMap((one) => [
    one.address,
    one.mode_address,
    one.position_address,
    one.stop?.address,
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

const commentLines = (text: string): readonly string[] =>
  text.split(/\r?\n/).flatMap((line) => /(?:^|\s)#(.*)$/.exec(line)?.[1] ?? []);

/** The comments below each controller's key, up to the next one's. */
function commentsByController(text: string, codes: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const known = new Map(codes.flatMap((code) => spellings(code).map((key) => [key, code] as const)));
  let code: string | null = null;
  for (const line of text.split(/\r?\n/)) {
    const [, key = ""] = /^\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'].*?)\s*:(?:\s|$)/.exec(line) ?? [];
    code = known.get(key) ?? code;
    const [, comment] = /(?:^|\s)#(.*)$/.exec(line) ?? [];
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
