import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/simulator.js";
import { type Program, startProgram } from "../end-to-end/support/program.js";
import { type Memory, memoryOf, probeEnvironment } from "../proof/probed.js";
import { freePort } from "../support/mosquitto.js";

/* The built program, the simulated platform and a real Chromium, as people meet them. */

let browser: Browser | null = null;

/** One browser for all tests of a file. */
export function withBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--js-flags=--expose-gc"],
    });
  });
  afterAll(() => browser?.close());
}

export interface Scene {
  readonly url: string;
  /** Where its configuration is. */
  readonly folder: string;
  /** Of the embedded broker. */
  readonly broker: number;
  readonly simulator: Simulator;
  /** The one that runs now. */
  readonly program: () => Program;
  /** What it holds after a garbage collection. */
  readonly memory: () => Promise<Memory>;
  /** Starts another after the first was killed, with the same configuration. */
  readonly restart: () => Promise<void>;
}

export interface SceneOptions {
  readonly simulator?: Partial<SimulatorOptions>;
  /** Further keys below `http`, each line with two blanks before it. */
  readonly http?: string;
  readonly controllers?: string;
  readonly commands?: string;
  readonly mqtt?: string;
  readonly polling?: string;
}

export const operator =
  "  users: [{ username: anna, password: operator-anna, role: operator }, { username: ben, password: viewer-ben }]";

const usualControllers = `
  GH-0001:
    name: East house
    actuators:
      left_skylight: { kind: skylight, address: "101", name: Left skylight, travel_time: 2s, settle: 0s, confirm_within: 4s }
      fan: { kind: circulation_fan, address: "150", name: Fan, settle: 0s, confirm_within: 3s, min_interval: 0s }
      vent: { kind: motor, address: "300", name: Vent motor, values: { open: "00000001", close: "00000010" }, settle: 0s, confirm_within: 3s }
      pinned: { kind: machine, address: "151", name: Pinned, read_only: true }
`;

export async function scene({ simulator: over = {}, ...given }: SceneOptions = {}): Promise<Scene> {
  const simulator = await startSimulator({ controllers: 2, seed: 1, speed: 20, ...over }, systemClock);
  const folder = await mkdtemp(join(tmpdir(), "page-"));
  const [port, broker] = [await freePort(), await freePort()];
  const text = [
    `platform: { business_url: "${simulator.businessUrl}", realtime_url: "${simulator.realtimeUrl}", token: simulator, requests_per_minute: 0 }`,
    given.mqtt ?? `broker: { port: ${broker} }`,
    `http:\n  port: ${port}\n${given.http ?? operator}`,
    "homeassistant: { enabled: false }",
    given.polling ?? "polling: { controllers: 2s, sensors: 1s, running_status: 5s, actuators: 1s }",
    `commands: { ${given.commands ?? "read_only: false"} }`,
    `controllers:${given.controllers ?? usualControllers}`,
  ].join("\n");
  await writeFile(join(folder, "config.yaml"), text);
  let program: Program;
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    program = startProgram(["run"], { folder, env: probeEnvironment(folder) });
    await expect
      .poll(
        () =>
          fetch(`${url}/healthz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: 30_000 },
      )
      .toBe(true);
  };
  onTestFinished(async () => {
    program.signal("SIGKILL");
    await program.ended;
    await simulator.close();
    await rm(folder, { recursive: true, force: true });
  });
  await start();
  const memory = () => memoryOf(program, folder);
  return { url, folder, broker, simulator, program: () => program, memory, restart: start };
}

export interface Visit {
  readonly page: Page;
  /** What a browser complains about: refused sources, broken scripts, requests to others. */
  readonly complaints: readonly string[];
}

/** A browser of its own, at `path`, whose complaints are collected. */
export async function visit(url: string, path = "", options: BrowserContextOptions = {}): Promise<Visit> {
  if (browser === null) throw new Error("call withBrowser() first");
  const context = await browser.newContext({
    locale: "en-GB",
    viewport: { width: 390, height: 844 },
    ...options,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (
      /Content Security Policy/i.test(text) ||
      (message.type() === "error" && !/status of (?:401|409)|ERR_CONNECTION/.test(text))
    )
      complaints.push(`console: ${text}`);
  });
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== "data:" && asked.protocol !== "blob:" && asked.host !== new URL(url).host)
      complaints.push(`foreign request: ${request.url()}`);
  });
  await page.goto(`${url}/${path}`);
  return { page, complaints };
}

export async function logIn(page: Page, name = "anna", password = "operator-anna"): Promise<void> {
  await page.getByLabel(/^(Name|用户名)$/).fill(name);
  await page.getByLabel(/^(Password|密码)$/).fill(password);
  await page.getByRole("button", { name: /^(Log in|登录)$/ }).click();
}

/** The card of an actuator or parameter. */
export const card = (page: Page, name: string) => page.getByRole("article", { name, exact: true });

/** The card, opened to what can be sent. */
export async function opened(page: Page, name: string) {
  const found = card(page, name);
  const line = found.locator(".line");
  if ((await line.getAttribute("aria-expanded")) !== "true") await line.click();
  return found;
}

/** Chooses and sends: both steps. */
export async function command(page: Page, name: string, word: string): Promise<void> {
  const found = await opened(page, name);
  await found.getByRole("button", { name: word, exact: true }).click();
  await found.getByRole("button", { name: /^Send / }).click();
}

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe calls serious or critical on the page as it is. */
export async function axe(page: Page): Promise<readonly string[]> {
  // Injected through the debugger, since the page's own policy lets no foreign script in.
  const { readFile } = await import("node:fs/promises");
  await page.evaluate(await readFile(axePath, "utf8"));
  return page.evaluate(async () => {
    interface Found {
      readonly violations: readonly {
        readonly id: string;
        readonly impact: string;
        readonly nodes: readonly { readonly html: string }[];
      }[];
    }
    const { violations } = await (globalThis as unknown as { axe: { run: () => Promise<Found> } }).axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
  });
}
