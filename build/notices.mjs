// The packages that are in the built files, with their licences.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Licences that ask for no more than their text, or for nothing. */
const allowedLicences = ["MIT", "MIT-0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "Unlicense"];

/** Of packages that bring no file with their licence: what their repositories say. */
const ownTexts = { "@bufbuild/protobuf": new URL("licences/protobuf-es.txt", import.meta.url) };

/** `(Apache-2.0 AND BSD-3-Clause)` asks for the text of both. */
export const isAllowed = (license) =>
  `${license}`
    .replace(/^\((.*)\)$/, "$1")
    .split(" AND ")
    .every((one) => allowedLicences.includes(one));

/** The package of a module; null for one of the program itself. */
export function packageOf(file) {
  if (!file.includes("/node_modules/")) return null;
  for (let folder = dirname(file); folder.includes("/node_modules/"); folder = dirname(folder)) {
    const description = join(folder, "package.json");
    const { name, version, license } = existsSync(description) ? JSON.parse(readFileSync(description)) : {};
    if (name !== undefined && version !== undefined) return { name, version, license, folder };
  }
  throw new Error(`${file}: of no package that has a name and a version`);
}

/** Those of which there is something in the chunks, by name. */
export function packagesIn(chunks) {
  const found = new Map();
  for (const { modules } of chunks)
    for (const [id, { renderedLength }] of Object.entries(modules)) {
      const one = renderedLength > 0 ? packageOf(id) : null;
      if (one !== null) found.set(`${one.name}@${one.version}`, one);
    }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one);
}

function textsOf({ name, folder }) {
  if (name in ownTexts) return [readFileSync(ownTexts[name], "utf8").trim()];
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)\b/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (texts.length === 0)
    throw new Error(`${name} has no file with its licence: say in build/notices.mjs what it is`);
  return texts;
}

/** The text of all licences. Throws for a package without one, or with one that is not allowed. */
export function noticesOf(packages) {
  const parts = packages.map((one) => {
    const { name, version, license } = one;
    if (!isAllowed(license))
      throw new Error(`${name}@${version} is licensed ${license}, which build/notices.mjs does not allow`);
    return [`${name} ${version} (${license})`, ...textsOf(one)].join("\n\n");
  });
  const line = `\n\n${"-".repeat(78)}\n\n`;
  const head = "greenhouse2mqtt holds parts of these packages, each under its own licence.";
  return `${[head, ...parts].join(line)}\n`;
}

/** The packages that such a text names, as `name@version`. */
export const namedIn = (notices) =>
  [...notices.matchAll(/^-{78}\n\n(\S+) (\S+) \(.+\)$/gm)].map(([, name, version]) => `${name}@${version}`);
