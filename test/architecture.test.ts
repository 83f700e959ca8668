import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

/*
 * Who may know whom. The table is the architecture: the core (greenhouse) knows nobody, each edge knows the core and its
 * own library, edges do not know each other, and bridge.ts alone joins them.
 */

interface Row {
  /** Packages of the registry. */
  readonly npm?: readonly string[];
  /** Node's own modules, without `node:`. */
  readonly node: readonly string[] | "any";
  /** Sibling folders: all of a folder, some files of it, or only the types of some files. */
  readonly folders: Readonly<
    Record<string, "all" | { readonly files: readonly string[]; readonly typesOnly: boolean }>
  >;
}

const core = { greenhouse: "all", language: "all", runtime: "all" } as const;
/** A part takes its section of the parsed configuration as it is; nothing of how it was read. */
const section = { settings: { files: ["sections/core.ts"], typesOnly: true } } as const;
/** A feature has its own section, says what is wrong with it, and is made from the core. */
const feature = {
  settings: "all",
  feature: { files: ["command.ts", "core.ts", "doctor.ts", "feature.ts"], typesOnly: false },
} as const;
/** Of each feature the list of them knows one file. */
const features = Object.fromEntries(
  ["broker", "homeassistant", "groups", "sparkplug", "http", "notify", "cluster", "run-time"].map((name) => [
    name,
    { files: ["feature.ts"], typesOnly: false },
  ]),
);

const table: Readonly<Record<string, Row>> = {
  "main.ts": {
    node: ["module", "os", "path", "tty"],
    folders: { cli: "all" },
  },
  runtime: { npm: ["pino", "prom-client", "fastest-levenshtein"], node: "any", folders: { language: "all" } },
  greenhouse: { node: [], folders: { language: "all" } },
  // Sentences, and the words of languages for them.
  language: { npm: ["intl-messageformat"], node: [], folders: {} },
  settings: { npm: ["zod", "any-ascii"], node: [], folders: core },
  feature: {
    npm: ["zod"],
    node: [],
    folders: {
      ...core,
      settings: "all",
      journal: "all",
      mqtt: "all",
      platform: "all",
      sync: "all",
      commands: "all",
    },
  },
  config: {
    npm: ["zod", "yaml", "any-ascii"],
    node: "any",
    folders: { ...core, settings: "all", feature: { files: ["feature.ts"], typesOnly: true }, ...features },
  },
  // Changes of the user's own text: how they are made, checked, written and kept.
  saving: {
    npm: ["yaml", "zod"],
    node: ["crypto", "fs/promises", "path"],
    folders: {
      ...core,
      settings: "all",
      config: "all",
      page: { files: ["protocol.ts"], typesOnly: true },
    },
  },
  backup: {
    npm: ["age-encryption", "zod"],
    node: ["fs", "fs/promises", "path", "util", "zlib"],
    folders: {
      language: "all",
      runtime: "all",
      config: "all",
      terminal: "all",
      settings: { files: ["problem.ts"], typesOnly: false },
      journal: { files: ["open.ts"], typesOnly: false },
      saving: { files: ["given.ts", "secrets.ts", "write.ts"], typesOnly: false },
    },
  },
  platform: { npm: ["undici", "ws"], node: "any", folders: { ...core, ...section } },
  journal: { npm: ["zod"], node: "any", folders: { ...core, ...section } },
  mqtt: { npm: ["mqtt", "ws"], node: "any", folders: { ...core, ...section } },
  broker: { npm: ["aedes", "ws"], node: "any", folders: { language: "all", runtime: "all", ...feature } },
  http: {
    npm: ["ws", "zod", "uqr"],
    node: "any",
    folders: {
      ...core,
      // What is wrong with a request is said as in a configuration.
      ...feature,
      sync: { files: ["store.ts"], typesOnly: true },
      // The payload of a command, read before it goes the way of those from the broker.
      commands: { files: ["command.ts", "payload.ts"], typesOnly: false },
      journal: {
        files: ["reader.ts", "records.ts", "segments.ts", "timeline-table.ts", "timeline.ts"],
        typesOnly: false,
      },
      page: { files: ["protocol.ts", "settings-source.ts"], typesOnly: true },
    },
  },
  // The browser's half; it knows of the rest only what both speak.
  page: {
    npm: ["preact", "@preact/signals", "uplot"],
    node: [],
    folders: {
      greenhouse: {
        files: [
          "actuator-kinds.ts",
          "alarms.ts",
          "bands.ts",
          "documents.ts",
          "model.ts",
          "command/outcomes.ts",
          "groups.ts",
          "labels.ts",
          "limits.ts",
          "sensors.ts",
          "summary.ts",
        ],
        typesOnly: false,
      },
      language: { files: ["text.ts"], typesOnly: true },
      runtime: { files: ["failures.ts", "log-levels.ts"], typesOnly: false },
    },
  },
  homeassistant: {
    npm: ["yaml"],
    node: ["crypto"],
    folders: { ...core, ...feature, mqtt: { files: ["topics.ts"], typesOnly: false } },
  },
  sparkplug: {
    npm: ["@bufbuild/protobuf"],
    node: ["crypto"],
    folders: {
      ...core,
      ...feature,
      mqtt: { files: ["connection.ts", "connection/settings.ts", "connection/publish.ts"], typesOnly: false },
      // A payload is taken apart before another may stand for it.
      commands: { files: ["command.ts", "payload.ts"], typesOnly: false },
    },
  },
  simulator: { npm: ["ws"], node: "any", folders: { ...core, ...section } },
  sync: {
    node: [],
    folders: {
      ...core,
      ...section,
      journal: { files: ["records.ts"], typesOnly: true },
    },
  },
  limits: {
    node: [],
    folders: {
      ...core,
      ...section,
      sync: { files: ["store.ts"], typesOnly: true },
      journal: { files: ["records.ts"], typesOnly: true },
    },
  },
  commands: {
    npm: ["zod"],
    node: ["crypto", "util", "v8"],
    folders: {
      ...core,
      settings: { files: ["controllers.ts", "sections/core.ts"], typesOnly: false },
      sync: { files: ["store.ts", "push-mirror.ts"], typesOnly: true },
      limits: "all",
      journal: "all",
      mqtt: {
        files: ["topics.ts", "outbox.ts", "connection/settings.ts", "connection/publish.ts"],
        typesOnly: false,
      },
    },
  },
  groups: {
    node: ["crypto"],
    folders: {
      ...core,
      ...feature,
      commands: {
        files: ["book.ts", "command.ts", "endings.ts", "intake.ts", "payload.ts", "service.ts"],
        typesOnly: false,
      },
      journal: { files: ["journal.ts", "reader.ts", "records.ts", "segments.ts"], typesOnly: false },
      mqtt: { files: ["topics.ts", "outbox.ts", "connection/settings.ts"], typesOnly: false },
      sync: { files: ["store.ts"], typesOnly: true },
    },
  },
  beside: {
    node: ["http"],
    folders: {
      ...core,
      ...{ config: "all", journal: "all", mqtt: "all" },
      broker: { files: ["acl.ts", "settings.ts"], typesOnly: false },
    },
  },
  // How a command speaks to its user, reads the configuration and asks the running bridge.
  terminal: {
    npm: ["commander"],
    node: "any",
    folders: {
      ...core,
      platform: "all",
      mqtt: "all",
      config: "all",
      settings: "all",
      commands: { files: ["log-lines.ts"], typesOnly: false },
      beside: "all",
    },
  },
  setup: {
    npm: ["yaml", "zod", "ws", "@clack/prompts", "commander"],
    node: "any",
    folders: {
      ...core,
      platform: "all",
      mqtt: "all",
      config: "all",
      settings: "all",
      journal: "all",
      feature: { files: ["command.ts", "doctor.ts"], typesOnly: false },
      ...{
        beside: "all",
        terminal: "all",
        saving: "all",
        sync: { files: ["settings.ts"], typesOnly: false },
      },
      status: { files: ["bundle.ts"], typesOnly: false },
      backup: { files: ["command.ts"], typesOnly: false },
    },
  },
  "run-time": {
    node: [],
    folders: { ...core, ...feature, sync: { files: ["store.ts"], typesOnly: true } },
  },
  notify: {
    npm: ["undici", "nodemailer", "zod"],
    node: ["crypto", "net"],
    folders: { ...core, ...feature, mqtt: { files: ["requests.ts"], typesOnly: false } },
  },
  status: {
    npm: ["zod"],
    node: "any",
    folders: {
      ...core,
      journal: "all",
      mqtt: "all",
      feature: { files: ["core.ts"], typesOnly: true },
      config: "all",
      settings: "all",
      sync: { files: ["mirror.ts", "poll-plan.ts", "poll-reads.ts", "store.ts"], typesOnly: false },
      limits: { files: ["service.ts"], typesOnly: true },
      commands: { files: ["commander.ts", "service.ts"], typesOnly: true },
      platform: { files: ["client.ts", "counters.ts"], typesOnly: true },
    },
  },
  "core.ts": {
    npm: ["any-ascii"],
    node: [],
    folders: {
      ...core,
      ...{ feature: "all", journal: "all", mqtt: "all", platform: "all", sync: "all" },
      ...{ commands: "all", limits: "all", config: "all", status: "all" },
    },
  },
  "bridge.ts": {
    node: ["events"],
    folders: {
      ...core,
      ...{ feature: "all", journal: "all", mqtt: "all", platform: "all", sync: "all" },
      ...{ commands: "all", limits: "all", config: "all", status: "all" },
      "core.ts": "all",
    },
  },
  cluster: {
    npm: ["@nats-io/transport-node", "@nats-io/jetstream", "@nats-io/kv"],
    node: ["crypto", "fs/promises", "os", "path"],
    folders: {
      ...core,
      ...feature,
      journal: { files: ["lock.ts", "open.ts", "origin.ts", "place.ts", "segments.ts"], typesOnly: false },
    },
  },
  fleet: {
    node: ["async_hooks", "fs/promises", "path"],
    folders: {
      ...core,
      config: { files: ["clashes.ts", "fallback.ts", "fleet.ts", "live-settings.ts"], typesOnly: false },
      http: {
        files: ["access.ts", "faults.ts", "first-operator.ts", "fleet-site.ts", "port.ts"],
        typesOnly: false,
      },
      page: { files: ["protocol.ts"], typesOnly: true },
      "bridge.ts": "all",
    },
  },
  cli: {
    npm: ["commander", "any-ascii"],
    node: "any",
    folders: {
      ...core,
      ...{ platform: "all", mqtt: "all", journal: "all" },
      sync: "all",
      commands: "all",
      limits: { files: ["engine.ts"], typesOnly: false },
      feature: { files: ["command.ts", "feature.ts"], typesOnly: true },
      config: "all",
      settings: "all",
      saving: "all",
      terminal: "all",
      backup: "all",
      simulator: { files: ["simulator.ts"], typesOnly: false },
      status: "all",
      "bridge.ts": "all",
      fleet: "all",
      setup: {
        files: ["commands.ts", "doctor/command.ts", "discover/command.ts", "init/init.ts"],
        typesOnly: false,
      },
      page: { files: ["protocol.ts", "settings-source.ts"], typesOnly: true },
      beside: "all",
    },
  },
};

interface Import {
  readonly specifier: string;
  readonly typesOnly: boolean;
}

interface SourceFile {
  /** From `src`, with `/`. */
  readonly path: string;
  /** Its row of the table. */
  readonly folder: string;
  readonly text: string;
  readonly imports: readonly Import[];
  readonly tree: ts.SourceFile;
}

const root = resolve(import.meta.dirname, "..", "src");

const sources: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => {
    const path = file.split(sep).join("/");
    const text = readFileSync(join(root, file), "utf8");
    const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
    return { path, folder: folderOf(path), text, imports: importsOf(tree), tree };
  });

function folderOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function importsOf(tree: ts.SourceFile): Import[] {
  const found: Import[] = [];
  walk(tree, (node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier))
      found.push({ specifier: node.moduleSpecifier.text, typesOnly: bringsTypesOnly(node) });
    if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier))
      found.push({ specifier: node.moduleSpecifier.text, typesOnly: node.isTypeOnly });
    if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    )
      found.push({ specifier: node.argument.literal.text, typesOnly: true });
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [first] = node.arguments;
      // A computed specifier cannot be judged, so it breaks the table under this name.
      const specifier = first && ts.isStringLiteral(first) ? first.text : "(computed)";
      found.push({ specifier, typesOnly: false });
    }
  });
  return found;
}

function bringsTypesOnly({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false;
  if (importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const bindings = importClause.namedBindings;
  if (importClause.name !== undefined || bindings === undefined || !ts.isNamedImports(bindings)) return false;
  return bindings.elements.every((element) => element.isTypeOnly);
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** Where in `src` a relative import leads, as the path of the source file. */
function targetOf(file: SourceFile, specifier: string): string {
  const path = resolve(root, dirname(file.path), specifier).replace(/\.js$/, ".ts");
  return relative(root, existsSync(path) ? path : `${path}x`)
    .split(sep)
    .join("/");
}

/** Why a file may not import this; null where it may. */
function objection(file: SourceFile, { specifier, typesOnly }: Import): string | null {
  const row = table[file.folder];
  if (row === undefined) return "its folder has no row in the table";
  if (specifier.startsWith("node:"))
    return row.node === "any" || row.node.includes(specifier.slice("node:".length))
      ? null
      : `${file.folder} may not use it`;
  if (!specifier.startsWith(".")) {
    const name = specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/");
    return row.npm?.includes(name) ? null : `${file.folder} may not use this package`;
  }
  const target = targetOf(file, specifier);
  const folder = folderOf(target);
  if (folder === file.folder) return null;
  if (target.startsWith("../locales/")) return null;
  if (target.startsWith("..")) return "it leads out of src";
  const allowed = row.folders[folder];
  if (allowed === undefined) return `${file.folder} may not know ${folder}`;
  if (allowed === "all") return null;
  const inFolder = target.slice(folder.length + 1);
  if (!allowed.files.includes(inFolder))
    return `of ${folder}, ${file.folder} may know only ${allowed.files.join(", ")}`;
  return allowed.typesOnly && !typesOnly ? `${file.folder} may import only types of it` : null;
}

/** `path:line what`, for every node that breaks a rule. */
function offences(files: readonly SourceFile[], judge: (node: ts.Node) => string | null): readonly string[] {
  return files.flatMap(({ path, tree }) => {
    const found: string[] = [];
    walk(tree, (node) => {
      const what = judge(node);
      if (what === null) return;
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree));
      found.push(`src/${path}:${line + 1} ${what}`);
    });
    return found;
  });
}

describe("imports", () => {
  it("every folder of src has a row in the table", () => {
    const folders = [...new Set(sources.map(({ folder }) => folder))].sort();
    expect(folders.length).toBeGreaterThan(5);
    expect(folders.filter((folder) => !Object.hasOwn(table, folder))).toEqual([]);
  });

  it.each(Object.keys(table))("%s imports only what its row allows", (folder) => {
    const wrong = sources
      .filter((file) => file.folder === folder)
      .flatMap((file) =>
        file.imports.flatMap((one) => {
          const why = objection(file, one);
          return why === null ? [] : [`src/${file.path} imports "${one.specifier}": ${why}`];
        }),
      );
    expect(wrong).toEqual([]);
  });

  it("no folders import each other in a circle", () => {
    const edgesOf = new Map<string, Map<string, string>>();
    for (const file of sources)
      for (const { specifier } of file.imports.filter((one) => one.specifier.startsWith("."))) {
        const to = folderOf(targetOf(file, specifier));
        if (to === file.folder) continue;
        const known = edgesOf.get(file.folder) ?? new Map<string, string>();
        if (!known.has(to)) known.set(to, `${file.folder} → ${to} (src/${file.path} imports "${specifier}")`);
        edgesOf.set(file.folder, known);
      }
    const circles: string[] = [];
    const visit = (folder: string, path: readonly string[], steps: readonly string[]) => {
      for (const [to, step] of edgesOf.get(folder) ?? []) {
        if (path[0] === to) circles.push([...steps, step].join(", "));
        // Each circle is found once, from its first folder in the alphabet.
        else if (!path.includes(to) && to > (path[0] ?? "")) visit(to, [...path, to], [...steps, step]);
      }
    };
    for (const folder of edgesOf.keys()) visit(folder, [folder], []);
    expect(circles).toEqual([]);
  });

  it("the table allows no circle either", () => {
    const reached = (from: string, seen: Set<string>): Set<string> => {
      for (const to of Object.keys(table[from]?.folders ?? {})) if (!seen.has(to)) reached(to, seen.add(to));
      return seen;
    };
    expect(Object.keys(table).filter((folder) => reached(folder, new Set()).has(folder))).toEqual([]);
  });
});

/**
 * Files outside of a feature's folder that import from it, types counted: so many do not compile once the folder is deleted. A feature is
 * one room, so that the numbers only go down; two are the most that any may have in the end.
 */
const mostOutside: Readonly<Record<string, number>> = {
  http: 2,
  cluster: 1,
  broker: 2,
  groups: 1,
  notify: 1,
  sparkplug: 1,
  homeassistant: 1,
  fleet: 1,
  setup: 2,
  simulator: 2,
  "run-time": 1,
};

it("a feature whose folder is deleted leaves no more files that do not compile than it is allowed", () => {
  const outsideOf = (feature: string) =>
    sources
      .filter(({ folder }) => folder !== feature)
      .filter((file) =>
        file.imports.some(
          ({ specifier }) => specifier.startsWith(".") && folderOf(targetOf(file, specifier)) === feature,
        ),
      )
      .map(({ path }) => path);
  const found = Object.keys(mostOutside).map((feature) => [feature, outsideOf(feature)] as const);
  const tooMany = found.filter(([feature, files]) => files.length > (mostOutside[feature] ?? 0));
  const numbers = Object.fromEntries(found.map(([feature, files]) => [feature, files.length]));
  // A limit that is higher than what is needed would let it grow again.
  expect([tooMany, numbers]).toEqual([[], mostOutside]);
});

const moduleOf = (node: ts.ImportSpecifier): string =>
  node.parent.parent.parent.moduleSpecifier.getText().slice(1, -1);

/** Files that import each other in circles, types counted, each circle once. */
function circlesOfFiles(): readonly string[] {
  const importsOfFile = new Map(
    sources.map((file) => [
      file.path,
      file.imports
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => targetOf(file, specifier)),
    ]),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, above: readonly string[]) => {
    if (above.includes(path)) circles.push([...above.slice(above.indexOf(path)), path].join(" → "));
    if (above.includes(path) || done.has(path)) return;
    for (const next of importsOfFile.get(path) ?? []) visit(next, [...above, path]);
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  return circles;
}

const linesOf = (text: string): number => text.replace(/\n$/, "").split("\n").length;

describe("house rules", () => {
  it("the rules of the limits are pure", () => {
    const rules = sources.filter(({ path }) => path.startsWith("limits/rules/"));
    const impure = offences(rules, (node) =>
      ts.isClassDeclaration(node) || ts.isAwaitExpression(node) ? node.getText().slice(0, 40) : null,
    );
    const outside = rules.flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ specifier, typesOnly }) =>
            !/^(?:\.\/|\.\.\/\.\.\/(?:greenhouse|language)\/)/.test(specifier) && !typesOnly,
        )
        .map(({ specifier }) => `src/${path} imports "${specifier}"`),
    );
    expect([...impure, ...outside]).toEqual([
      'src/limits/rules/lease.ts imports "../../runtime/duration.js"',
    ]);
  });

  it("no files import each other in a circle, types counted", () => expect(circlesOfFiles()).toEqual([]));

  it("a file is a subject: none below 60 lines has a single importer", () => {
    const importers = new Map<string, Set<string>>();
    for (const file of sources)
      for (const { specifier } of file.imports.filter((one) => one.specifier.startsWith("."))) {
        const target = targetOf(file, specifier);
        importers.set(target, (importers.get(target) ?? new Set()).add(file.path));
      }
    // A service, a feature its command and what it has doctor look at are each a row of a table, in a file of their own.
    const isAlone = (path: string) =>
      path === "main.ts" ||
      path.startsWith("notify/services/") ||
      // Made by build/languages.mjs, one for each part that is loaded by itself.
      path.startsWith("page/locales/") ||
      path === "language/locale-files.ts" ||
      /\/(?:feature|doctor|command)\.ts$/.test(path);
    const small = sources.filter(
      ({ path, text }) => linesOf(text) < 60 && importers.get(path)?.size === 1 && !isAlone(path),
    );
    expect(small.map(({ path }) => path)).toEqual([]);
  });

  // A link under this name would take the place of everybody's installed packages.
  it("installed packages are not committed", () => {
    const { stdout } = spawnSync("git", ["ls-files", ":/node_modules"], { cwd: root, encoding: "utf8" });
    expect(stdout.trim()).toBe("");
  });

  it("nothing is typed any, and no rule is switched off", () => {
    const typed = offences(sources, (node) => (node.kind === ts.SyntaxKind.AnyKeyword ? "any" : null));
    const switches = sources.flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => {
        const [found] = /@ts-(?:ignore|expect-error|nocheck)|(?:eslint|oxlint)-disable/.exec(line) ?? [];
        return found === undefined ? [] : [`src/${path}:${index + 1} ${found}`];
      }),
    );
    expect([...typed, ...switches]).toEqual([]);
  });

  it("what may never end is begun in src/runtime/file-system.ts alone: folders with those above them, and files of others", () => {
    const bounded = "runtime/file-system.ts";
    const waiting = /^(?:readFile|readFileSync|createReadStream|mkdirSync|watch|watchFile)$/;
    // Of the installed program, and of the system: how names are looked up.
    const own = ["runtime/host-names.ts", "runtime/stack-trace.ts", "terminal/context.ts", "http/server.ts"];
    const found = offences(
      sources.filter(({ path }) => path !== bounded && !own.includes(path)),
      (node) => {
        if (ts.isImportSpecifier(node) && /^node:fs/.test(moduleOf(node)))
          return waiting.test((node.propertyName ?? node.name).text) ? node.name.text : null;
        const isRecursive =
          ts.isCallExpression(node) && /(?:^|\.)mkdir(?:Sync)?$/.test(node.expression.getText());
        return isRecursive && /recursive/.test(node.getText()) ? "mkdir with recursive" : null;
      },
    );
    const recursive = sources.filter(({ text }) => /mkdir\w*\([^;]*recursive: true/.test(text));
    expect([found, recursive.map(({ path }) => path)]).toEqual([[], []]);
  });

  it("links to NATS are made by src/cluster/nats.ts alone: the library's own way changes all that stand", () => {
    const found = offences(
      sources.filter(({ path }) => path !== "cluster/nats.ts"),
      (node) => {
        if (ts.isNamespaceImport(node))
          return /@nats-io/.test(node.parent.parent.getText()) ? node.getText() : null;
        const isOfNats = ts.isImportSpecifier(node) && moduleOf(node).startsWith("@nats-io/transport-node");
        if (!isOfNats) return null;
        const name = (node.propertyName ?? node.name).text;
        return /^(?:connect|setTransportFactory|NatsConnectionImpl)$/.test(name) ? name : null;
      },
    );
    expect(found).toEqual([]);
  });

  it("signals are joined by src/runtime/signals.ts alone: Node's own way loses an abort in some of its releases", () => {
    const found = offences(sources, (node) =>
      ts.isPropertyAccessExpression(node) && node.getText() === "AbortSignal.any" ? node.getText() : null,
    );
    expect(found).toEqual([]);
  });

  it("whoever goes on whatever becomes of a promise says so by a name of src/runtime/failures.ts", () => {
    const outside = sources.filter(({ folder }) => folder !== "runtime" && folder !== "page");
    const found = offences(outside, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return null;
      const [given] = node.arguments;
      if (node.expression.name.text !== "catch" || given === undefined || !ts.isArrowFunction(given))
        return null;
      const isSilent =
        given.parameters.length === 0 && /^(?:undefined|null|false)$/.test(given.body.getText());
      return isSilent ? given.getText() : null;
    });
    expect(found).toEqual([]);
  });

  it("time, timers and chance come from src/runtime alone", () => {
    // The page has the browser's own.
    const outside = sources.filter(({ folder }) => folder !== "runtime" && folder !== "page");
    const used = offences(outside, (node) => {
      if (ts.isPropertyAccessExpression(node)) {
        const name = `${node.expression.getText()}.${node.name.text}`;
        return /^(?:globalThis\.)?(?:Date\.now|Math\.random)$/.test(name) ? name : null;
      }
      if (ts.isNewExpression(node) && node.expression.getText() === "Date")
        return (node.arguments?.length ?? 0) === 0 ? "new Date()" : null;
      if (ts.isCallExpression(node) && node.expression.getText() === "Date") return "Date()";
      if (ts.isIdentifier(node) && /^(?:setTimeout|setInterval)$/.test(node.text)) return node.text;
      return null;
    });
    const imported = outside.flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier }) => /^node:timers/.test(specifier))
        .map(({ specifier }) => `src/${path} imports "${specifier}"`),
    );
    expect([...used, ...imported]).toEqual([]);
  });
});

/** What is in each folder. */
const contents: Readonly<Record<string, string>> = {
  language: "sentences with what is put in, and the words of languages for them",
  greenhouse: "the pure core: model, kinds, units, quality, names, command words",
  runtime: "clock, chance, log with its redaction, sockets, metrics, systemd",
  settings: "what sections of the configuration are made of, those of the core, and what is found in them",
  feature: "what a feature is to the program, and the core that features are made from",
  config: "schema, loading, rules",
  platform: "HTTP, sign-in, push, decoding of the platform's answers",
  journal: "what was commanded, on disk",
  sync: "store, polling, push, the state of the hosts",
  limits: "what limits commands, and the alarms",
  commands: "the path of a command, from its message to its result",
  groups: "what is commanded together",
  mqtt: "connection, topics, projection to messages, outboxes",
  homeassistant: "what is announced to Home Assistant",
  saving: "changes of the user's own files: how they are made, checked, written and kept",
  backup: "all that a bridge has in one file, and a bridge from it",
  sparkplug: "the bridge as a Sparkplug edge node",
  broker: "the embedded broker",
  http: "health checks, metrics, and the server of the page",
  page: "the page, in the browser",
  simulator: "the platform that lies, for `demo`, `simulate` and tests",
  beside: "how another process of this computer reaches a running bridge",
  terminal: "how a command speaks to its user, reads the configuration and asks the running bridge",
  setup: "what is done once: `init`, `discover`, `doctor`",
  "run-time": "how long actuators were on",
  notify: "who is told of alarms, and how",
  status: "health, metrics, what is late, another bridge, requests, crashes",
  "core.ts": "makes what every bridge has",
  "bridge.ts": "makes the features from it and runs all parts",
  cluster:
    "which of several machines runs an account, its journal in NATS, and what may be sent under a lease",
  fleet: "many accounts in one process",
  cli: "the commands of the program",
  "main.ts": "the process",
};

describe("CONTRIBUTING.md and docs/inside/rules.md", () => {
  it("name files that exist, and of each what stands in it", () => {
    const text = ["CONTRIBUTING.md", "docs/inside/rules.md"]
      .map((page) => readFileSync(resolve(root, "..", page), "utf8"))
      .join("\n");
    const textOf = (path: string) => {
      const full = resolve(root, "..", path);
      return existsSync(full) ? readFileSync(full, "utf8") : "";
    };
    const named = [...text.matchAll(/`(src\/[\w/.-]+\.\w+)`/g)].map(([, path = ""]) => path);
    const places = [
      ...text.matchAll(/((?:`#?\w+`(?:, | and )?)+)\s(?:\(of `\w+`\)\s)?in\s`(src\/[\w/.-]+)`/g),
    ];
    const missing = places.flatMap(([, names = "", path = ""]) =>
      [...names.matchAll(/`(#?\w+)`/g)].flatMap(([, name = ""]) =>
        new RegExp(`(?<![\\w#])${name}\\b`).test(textOf(path)) ? [] : [`${name} in ${path}`],
      ),
    );
    expect([places.length > 100, named.filter((path) => textOf(path) === ""), missing]).toEqual([
      true,
      [],
      [],
    ]);
  });
});

it("a comment names only files that exist", () => {
  const known = new Set(
    readdirSync(resolve(root, ".."), { encoding: "utf8" })
      .filter((folder) => ["src", "test", "build", "bench"].includes(folder))
      .flatMap((folder) => readdirSync(resolve(root, "..", folder), { recursive: true, encoding: "utf8" }))
      .map((file) => file.split(sep).at(-1)),
  );
  const gone = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^ *(?:\/\*|\*|\/\/).*$/gm)].flatMap(([comment]) =>
      [...comment.matchAll(/[\w-]+\.(?:ts|tsx|mjs)\b/g)].flatMap(([file]) =>
        known.has(file) ? [] : [`src/${path}: ${file}`],
      ),
    ),
  );
  expect(gone).toEqual([]);
});

it("the table says of every folder what it holds", () =>
  expect(Object.keys(contents).sort()).toEqual(Object.keys(table).sort()));
