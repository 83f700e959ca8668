// Which languages there are: those of the files in `locales`. What imports them by name is made here, as types and bundles follow names:
// `npm run build` and `npm run build:modules` write it before anything else, and a test says where the repository has another.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Sections of a file that one part of the page says, by that part: each is loaded with it. */
const parts = {
  main: ["page", "states", "words"],
  codes: ["codes"],
  setup: ["setup", "kinds"],
  checks: ["checks"],
  settings: ["settings", "keys", "key_sentences", "kinds"],
};

/** English is there by itself: what it says by a code or a key the program says already. */
const inProgram = new Set(["codes", "key_sentences"]);

const head = "/* Made by build/languages.mjs from the files of `locales`. */";

const keyOf = (language) => (/^\w+$/.test(language) ? language : JSON.stringify(language));
const identifier = (language) => language.replaceAll("-", "_");

function pageModule(sections, languages) {
  const of = (section) => (inProgram.has(section) ? languages.filter((one) => one !== "en") : languages);
  const imports = languages.flatMap((language) =>
    sections
      .filter((section) => of(section).includes(language))
      .map(
        (section) =>
          `import { ${section} as ${section}_${identifier(language)} } from "../../../locales/${language}.json";`,
      ),
  );
  const tables = sections.map((section) => {
    const entries = of(section).map(
      (language) => `  ${keyOf(language)}: ${section}_${identifier(language)},`,
    );
    return `export const ${section} = {\n${entries.join("\n")}\n};`;
  });
  return [head, ...imports, "", tables.join("\n\n"), ""].join("\n");
}

/** The modules by their place in the project. */
export function languageModules(root) {
  const languages = readdirSync(join(root, "locales"))
    .flatMap((file) => (/^[a-z]{2,3}(?:-[a-z]{2,4})?\.json$/.test(file) ? [file.slice(0, -5)] : []))
    .sort((one, other) => Number(other === "en") - Number(one === "en") || (one < other ? -1 : 1));
  const known = `${head}
export const languages = [${languages.map((one) => JSON.stringify(one)).join(", ")}] as const;
`;
  const loads = languages
    .filter((language) => language !== "en")
    .map(
      (language) =>
        `  ${keyOf(language)}: () => import("../../locales/${language}.json", { with: { type: "json" } }),`,
    );
  const files = `${head}

/** Each but English, which sentences are in by themselves. */
export const localeFiles = {
${loads.join("\n")}
};
`;
  return new Map([
    ["src/language/known.ts", known],
    ["src/language/locale-files.ts", files],
    ...Object.entries(parts).map(([part, sections]) => [
      `src/page/locales/${part}.ts`,
      pageModule(sections, languages),
    ]),
  ]);
}

const textIn = (file) => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
};

export function writeLanguages(root) {
  for (const [path, text] of languageModules(root)) {
    const file = join(root, path);
    if (textIn(file) !== text) writeFileSync(file, text);
  }
}
