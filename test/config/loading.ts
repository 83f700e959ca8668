import {
  type ConfigurationResult,
  type FileContent,
  loadConfiguration,
  type LoadedConfiguration,
  type ReadFile,
} from "../../src/config/load.js";
import { expect, it } from "vitest";
import { formatProblem } from "../../src/config/problem.js";

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: string;
  readonly mode?: number;
  readonly file?: string;
}

/** Four lines that make any configuration below them complete. */
export const platform = `platform:
  business_url: https://business.example.com
  realtime_url: https://realtime.example.com
  token: !env TOKEN
`;

export const tokenEnv = { TOKEN: "token-of-the-account" };

const file = (text: string, mode: number): FileContent => ({
  ok: true,
  bytes: new TextEncoder().encode(text),
  mode,
});

/** Loads a text as `config.yaml`, with `secrets.yaml` beside it where one is given. */
export function load(text: string, around: Surroundings = {}): Promise<ConfigurationResult> {
  const { env = tokenEnv, secrets, mode = 0o600, file: name = "config.yaml" } = around;
  const readFile: ReadFile = (path) => {
    if (path === name) return Promise.resolve(file(text, mode));
    if (path === "secrets.yaml" && secrets !== undefined) return Promise.resolve(file(secrets, mode));
    return Promise.resolve({ ok: false, reason: "missing" });
  };
  return loadConfiguration(name, { readFile, env });
}

export async function problemLines(text: string, around: Surroundings = {}): Promise<string[]> {
  const result = await load(text, around);
  return result.ok ? [] : result.problems.map(formatProblem);
}

export async function warningLines(text: string, around: Surroundings = {}): Promise<string[]> {
  const result = await loaded(text, around);
  return result.warnings.map(formatProblem);
}

/** The configuration of a text that must be right. */
export async function loaded(text: string, around: Surroundings = {}): Promise<LoadedConfiguration> {
  const result = await load(text, around);
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result;
}

interface Row {
  readonly title: string;
  readonly text: string;
  readonly lines: string[];
}

/**
 * The rows of a table: a text, with ⏎ for its line ends, and below it the lines about it, without the name of the file, from the colon
 * on. What stands behind a `#` is the title of the next row.
 */
export function rowsOf(strings: TemplateStringsArray, ...values: readonly string[]): readonly Row[] {
  const rows: Row[] = [];
  let title = "";
  for (const line of String.raw(strings, ...values).split("\n")) {
    const text = line.trim();
    if (text.startsWith("# ")) title = text.slice(2);
    else if (text.startsWith(":")) rows.at(-1)?.lines.push(`config.yaml${text}`);
    else if (text !== "") {
      rows.push({ title: title || text, text: `${text.replaceAll("⏎", "\n")}\n`, lines: [] });
      title = "";
    }
  }
  return rows;
}

/** The problems of what stands below `platform`. */
export const below = (text: string): Promise<string[]> => problemLines(platform + text);

/** Each row's lines, and no others, are what is said about its text. */
export function itFinds(rows: readonly Row[], linesOf: (text: string) => Promise<string[]> = below): void {
  it.each(rows)("$title", async ({ text, lines }) => {
    expect(await linesOf(text)).toEqual(lines);
  });
}
