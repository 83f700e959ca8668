import { isAbsolute, relative, resolve } from "node:path";
import { isMap, isScalar } from "yaml";
import type { GivenFile } from "./given-file.js";

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
