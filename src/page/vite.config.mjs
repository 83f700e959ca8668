import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const readable = (key) => {
  const name = key.split(".").at(-1).replaceAll("_", " ");
  return name.charAt(0).toUpperCase() + name.slice(1);
};

/** By section, the text that the page makes of a key without words. */
const madeOf = {
  page: readable,
  settings: readable,
  keys: readable,
  states: readable,
  words: (key) => key.replaceAll("_", " "),
};

/** Makes each section of a language's words a module of its own, so that it is loaded with the code that uses it. */
const sections = {
  name: "sections",
  enforce: "pre",
  transform: (code) =>
    code.replace(/^import \{([^}]+)\} from "(?:\.\.\/)+locales\/(\w+)\.json";/gm, (_, names, language) =>
      names
        .split(",")
        .flatMap((name) => (name.trim() === "" ? [] : [name.trim().split(" as ")]))
        .map(([section, own = section]) => `import ${own} from "words:${language}/${section}";`)
        .join(" "),
    ),
  resolveId: (source) => (source.startsWith("words:") ? `\0${source}` : null),
  load(id) {
    const [, language, section] = /^\0words:(\w+)\/(\w+)$/.exec(id) ?? [];
    if (section === undefined) return null;
    const words = JSON.parse(
      readFileSync(new URL(`../../locales/${language}.json`, import.meta.url), "utf8"),
    );
    const kept = Object.entries(words[section]).filter(
      // The page makes some English words itself.
      ([key, name]) => language !== "en" || name !== madeOf[section]?.(key),
    );
    return `export default ${JSON.stringify(Object.fromEntries(kept))};`;
  },
};

/** The code that views share, and the views that are loaded with the page. */
const seenFirst =
  /node_modules\/(?:@preact|preact)\/|src\/page\/(?!accounts|curves|first|journal|locales|main|plot|settings|setup|shell|span|style|timeline|vite|wall)\w|words:\w+\/(?:page|states|words|codes)$/;

// Only relative addresses: the page works below any path.
export default defineConfig({
  base: "./",
  plugins: [sections],
  build: {
    outDir: "../../dist/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { index: "index.html", shell: "shell.ts" },
      output: {
        // A service worker needs a fixed name, and serves only its own folder.
        entryFileNames: ({ name }) => (name === "shell" ? "shell.js" : "assets/[name]-[hash].js"),
        // Fewer files make the same code smaller.
        codeSplitting: {
          groups: [
            { name: "parts", test: seenFirst },
            { name: "curves", test: /src\/page\/(?:curves|span)\./ },
            { name: "views", test: /src\/page\/(?:accounts|first-operator|journal|timeline|wall)\./ },
          ],
        },
      },
    },
  },
});
