import { expect, it } from "vitest";
import {
  type ConfigurationResult,
  type FileContent,
  loadConfiguration,
  type LoadedConfiguration,
  type ReadFile,
} from "../../src/config/load.js";
import { formatProblem, type Problem } from "../../src/settings/problem.js";

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

/** What `!secret` of the ways of `notify` stands for in examples. */
export const notifySecrets = [
  "ntfy_topic: a-topic\nntfy_token: a-token\ntelegram_token: 123456:ABC-DEF123\nwecom_key: a-key",
  "dingtalk_token: atoken\ndingtalk_secret: a-secret\nwebhook_url: https://a.example",
  "webhook_token: a-token\nsmtp_password: a-word\nproxy_password: a-word",
].join("\n");

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

export const problemLines = async (text: string, around: Surroundings = {}): Promise<string[]> =>
  (await problemsIn(text, around)).map(formatProblem);

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

interface Table {
  /** The text that a row stands for. */
  readonly around?: (row: string) => string;
  /** What is said about it; its problems, unless told otherwise. */
  readonly find?: (text: string, row: string) => Promise<readonly Problem[]>;
}

export async function problemsIn(text: string, around: Surroundings = {}): Promise<readonly Problem[]> {
  const result = await load(text, around);
  return result.ok ? [] : result.problems;
}

/**
 * Each row of a table is a text, with ⏎ for its line ends and ‸ where something is said about it, and nowhere else. Behind the arrow
 * stand words of what is said there, with · between those of several places.
 */
export function itFinds(
  table: string,
  { around = (row) => platform + row, find = (text) => problemsIn(text) }: Table = {},
): void {
  const rows = table.split("\n").map((line) => line.trim().split(" → "));
  it.each(rows.filter(([text]) => text !== ""))("%s", async (row = "", said = "") => {
    const [first = "", ...parts] = around(row.replaceAll("⏎", "\n")).split("‸");
    let before = first;
    const places = parts.map((part) => {
      const lines = before.split("\n");
      before += part;
      return `${lines.length}:${(lines.at(-1) ?? "").length + 1}`;
    });
    const found = await find(before, row);
    expect(found.map(({ line, column }) => `${line}:${column}`)).toEqual(places);
    const words = said.split(" · ");
    for (const [at, { path, message }] of found.entries())
      expect(`${path}: ${String(message)}`).toContain(words[at] ?? words[0]);
  });
}
