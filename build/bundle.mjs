// The program and its packages in a few files, by rolldown, which is what Vite builds the page with: what every command
// needs, what reads a configuration, what runs the bridge, and a file for each part that is loaded when it is used.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { decode, encode } from "@jridgewell/sourcemap-codec";
import { rolldown } from "rolldown";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Each with all that it imports; what stands earlier keeps what both need. Everything else goes with the parts that use it. */
const groups = [
  { name: "program", test: /\/src\/cli\/program\.ts$/ },
  { name: "configuration", test: /\/src\/config\/load\.ts$/ },
  // What is done once needs of the bridge no more than this.
  {
    name: "common",
    test: /\/src\/(?:runtime\/(?!metrics\.ts$)|mqtt\/connection\/settings\.ts$|terminal\/common\.ts$)/,
  },
  // What asks a running bridge needs no more than the way to it.
  { name: "beside", test: /\/src\/(?:beside\/|(?:terminal\/running-bridge|cli\/told)\.ts$)/ },
  { name: "bridge", test: /\/src\/(?:cli\/run|bridge)\.ts$/ },
].map((group, place) => ({ ...group, priority: 10 - place }));

/** Cuneiform, Egyptian and Anatolian hieroglyphs, and Tangut: nobody writes them today. By blocks of 256 characters. */
const isExtinct = (block) => (block >= 0x120 && block <= 0x146) || (block >= 0x170 && block <= 0x18d);

/**
 * What any-ascii writes for each character of Unicode: packed, and unpacked for the first name that needs it. As it stands in the
 * package it would be half of what reads a configuration.
 */
async function letters() {
  // The package gives no other way to its table.
  const { default: lettersOf } = await import(new URL("block.js", import.meta.resolve("any-ascii")).href);
  const blocks = {};
  for (let number = 0; number <= 0x10ff; number += 1) {
    const block = lettersOf(number);
    if (block !== "" && !isExtinct(number)) blocks[number] = block;
  }
  const packed = brotliCompressSync(JSON.stringify(blocks)).toString("base64");
  return `import { brotliDecompressSync } from "node:zlib";
    let blocks;
    export default function block(number) {
      blocks ??= JSON.parse(brotliDecompressSync(Buffer.from("${packed}", "base64")).toString());
      return blocks[number] ?? "";
    }`;
}

/** What packages bring for browsers, old releases and other languages, and what stands here in its place. */
const replaced = [
  // Zod's sentences in some fifty languages: the program has its own, and zod falls back to these alone.
  {
    from: /^\.\.\/locales\/index\.js$/,
    by: /\/node_modules\/zod\//,
    text: 'export { default as en } from "zod/v4/locales/en.js";',
  },
  // A copy of Node's own streams.
  { from: /^readable-stream$/, by: /./, text: 'module.exports = require("node:stream");' },
  // HTTP/2, which nothing here asks a host for, and with it Node's own.
  {
    from: /^\.\/client-h2\.js$/,
    by: /\/node_modules\/undici\//,
    text: 'module.exports = () => { throw new Error("HTTP/2 is not part of this program"); };',
  },
  // Forms as bodies, and with them the half of fetch that makes texts of them.
  {
    from: /^\.\.\/web\/fetch\/body\.js$/,
    by: /\/node_modules\/undici\//,
    text: 'exports.extractBody = () => { throw new Error("forms are not part of this program"); };',
  },
  // Its front door also has fetch, caches, cookies and mocks; what messages leave by are three dispatchers, their calls and their way to connect.
  {
    from: /^undici$/,
    by: /\/src\/notify\//,
    text: `import calls from "undici/lib/api/index.js";
      import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
      Object.assign(Dispatcher.prototype, calls);
      export { default as Agent } from "undici/lib/dispatcher/agent.js";
      export { default as buildConnector } from "undici/lib/core/connect.js";
      export { default as Pool } from "undici/lib/dispatcher/pool.js";
      export { default as ProxyAgent } from "undici/lib/dispatcher/proxy-agent.js";`,
  },
  { from: /^\.\/block\.js$/, by: /\/node_modules\/any-ascii\//, text: await letters() },
  // Ways of sending mail other than one SMTP connection with a password.
  {
    from: /^\.\.?\/(?:smtp-pool|(?:sendmail|stream|json|ses)-transport|dkim|xoauth2|well-known)\/index\.js$/,
    by: /\/node_modules\/nodemailer\//,
    text: 'export default class { constructor() { throw new Error("not part of this program"); } }',
  },
  // What waits in a pool for a connection: there it begins with 2,048 places, and each account of a fleet has four pools.
  {
    from: /^\.\/fixed-queue(?:\.js)?$/,
    by: /\/node_modules\/undici\//,
    text: `module.exports = class {
      items = [];
      taken = 0;
      isEmpty() { return this.taken === this.items.length; }
      push(item) { this.items.push(item); }
      shift() {
        if (this.isEmpty()) return null;
        const item = this.items[this.taken];
        this.items[this.taken++] = undefined;
        if (this.taken * 2 > this.items.length) {
          this.items = this.items.slice(this.taken);
          this.taken = 0;
        }
        return item;
      }
    };`,
  },
  // What packages say of each packet to whoever works on them: even where nobody listens it costs a list of arguments each time.
  {
    from: /^debug$/,
    by: /\/node_modules\/mqtt(?:-packet)?\//,
    text: "module.exports = () => () => undefined;",
  },
  // Timers in a thread, for pages in the background.
  { from: /^worker-timers$/, by: /./, text: 'module.exports = require("node:timers");' },
];

/** Words that the page alone says are in the page. */
const ofPage = ["page", "checks", "kinds", "setup", "settings", "keys", "key_sentences"];

export const programWords = {
  name: "words",
  load(id) {
    if (!/\/locales\/\w+\.json$/.test(id)) return null;
    const sections = Object.entries(JSON.parse(readFileSync(id, "utf8")));
    const kept = sections.filter(([name]) => !ofPage.includes(name));
    return { code: JSON.stringify(Object.fromEntries(kept)), moduleType: "json" };
  },
};

const replacements = {
  name: "replacements",
  resolveId(source, importer) {
    const place = replaced.findIndex(({ from, by }) => from.test(source) && by.test(importer ?? ""));
    // By the last part of its name the file is called, where it becomes one of its own.
    return place < 0 ? null : `\0replacement/${place}/${basename(source)}`;
  },
  load: (id) => replaced[/^\0replacement\/(\d+)\//.exec(id)?.[1]]?.text ?? null,
};

/**
 * Without blanks and with short names, but each statement as it was written and each function and class under its own name,
 * which stacks show. A single character beyond Latin 1 makes Node keep all of a file at two bytes each, so they are escaped.
 */
const minify = {
  compress: false,
  mangle: { keepNames: true },
  codegen: { removeWhitespace: true, asciiOnly: true },
};

async function write(input, output) {
  const built = await rolldown({
    cwd: root,
    platform: "node",
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    transform: { target: "node20.18" },
    ...input,
  });
  try {
    const written = await built.write({
      format: "esm",
      comments: false,
      entryFileNames: "[name].js",
      ...output,
    });
    return written.output.filter(({ type }) => type === "chunk");
  } finally {
    await built.close();
  }
}

const isOfPackage = (source = "") => source.includes("node_modules/");

/**
 * Leaves in a source map what a stack trace needs: where the lines of the program's own sources begin, and where the files of
 * packages do. With the place of each word the maps would be half as large as the program.
 */
function thin(file) {
  const { sources, mappings } = JSON.parse(readFileSync(file, "utf8"));
  let before = [];
  const begins = ([, source, line]) => {
    const [, sourceBefore, lineBefore] = before;
    return source !== sourceBefore || (line !== lineBefore && !isOfPackage(sources[source]));
  };
  const lines = decode(mappings).map((segments) => {
    before = [];
    return segments.flatMap((segment) => {
      const isFirst = begins(segment);
      before = segment;
      return isFirst ? [segment.slice(0, 4)] : [];
    });
  });
  writeFileSync(file, JSON.stringify({ version: 3, sources, names: [], mappings: encode(lines) }));
}

/** What is run, with the version of Node.js that the package asks for. */
function entry() {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const text = readFileSync(join(root, "build/entry.js"), "utf8");
  return text.replaceAll("0.0.0", engines.node.replace(/^>=/, ""));
}

/** Writes the program to `folder`, where `main.js` is what is run, and returns its chunks. `plugins` see each module first. */
export async function bundle({ folder, plugins = [] }) {
  const chunks = await write(
    { input: { "program/start": "src/main.ts" }, plugins: [...plugins, replacements, programWords] },
    {
      dir: folder,
      chunkFileNames: "program/[name].js",
      minify,
      codeSplitting: { groups },
      sourcemap: true,
      sourcemapExcludeSources: true,
    },
  );
  for (const { sourcemapFileName } of chunks)
    if (sourcemapFileName !== null) thin(join(folder, sourcemapFileName));
  writeFileSync(join(folder, "main.js"), entry());
  return chunks;
}

/** Writes each module of the program to a file of its own, without packages, for what measures or runs single ones. */
export const writeModules = ({ folder }) =>
  write(
    {
      input: readdirSync(join(root, "src"), { recursive: true })
        .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && !path.startsWith("page"))
        .map((path) => `src/${path}`),
      external: /^[^./\0]/,
      treeshake: false,
    },
    { dir: folder, preserveModules: true, preserveModulesRoot: "src" },
  );
