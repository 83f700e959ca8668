import {
  type ConfigurationResult,
  type FileContent,
  loadConfiguration,
  type LoadedConfiguration,
  type ReadFile,
} from "../../src/config/load.js";
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
