import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { SettingsDocument } from "../../../src/page/protocol.js";
import { brokerAndClient, platform } from "../../bridge/support/bridge.js";
import { logged, startProcess } from "../../bridge/support/program.js";
import type { Program } from "../../end-to-end/support/program.js";
import { tempFolder } from "../../mqtt-connection/support.js";
import { freePort } from "../../support/mosquitto.js";

/* Settings of a fleet's accounts: built programs, a real broker, a page with two admins. */

export const anna = { username: "anna", password: "all-of-the-houses", role: "admin" };
export const ben = { username: "ben", password: "only-north-is-his", role: "admin", accounts: ["north"] };

export const minutes = (count: number) => ({ timeout: count * 60_000, interval: 100 });

interface Hosts {
  readonly business_url: string;
  readonly realtime_url: string;
}

const accountText = (code: string, { business_url, realtime_url }: Hosts) => `# as on the sign
platform: { business_url: "${business_url}", realtime_url: "${realtime_url}", token: !secret token, requests_per_minute: 0 }
controllers:
  ${code}:
    name: House # of ${code}
`;

/** The files of a fleet in a folder of their own. */
export async function filesOf(accounts: readonly string[], url: string, hosts: Hosts, more: object = {}) {
  const folder = await tempFolder();
  const port = await freePort();
  await mkdir(join(folder, "accounts"));
  const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
  const fleet = {
    defaults: { mqtt: { url }, homeassistant: { enabled: false }, mirror: "listed" },
    http: { port, users: [anna, ben] },
    ...more,
  };
  await write("fleet.yaml", JSON.stringify(fleet));
  for (const [at, account] of accounts.entries())
    await write(`accounts/${account}.yaml`, accountText(`GH-000${at + 1}`, hosts));
  await write("accounts/secrets.yaml", "token: simulator\nother: canary-of-others\n");
  return {
    folder,
    port,
    text: (account: string) => readFile(join(folder, "accounts", `${account}.yaml`), "utf8"),
  };
}

export type Page = Awaited<ReturnType<typeof loggedIn>>;

/** Asks below an account; `bytes` for what is no JSON. */
export async function loggedIn(port: number, { username, password }: typeof anna) {
  const url = `http://127.0.0.1:${port}/api`;
  const headers = { "content-type": "application/json" };
  const login = () =>
    fetch(`${url}/login`, { method: "POST", headers, body: JSON.stringify({ username, password }) });
  await expect
    .poll(
      () =>
        login().then(
          ({ status }) => status,
          () => 0,
        ),
      minutes(1),
    )
    .toBe(204);
  const cookie = (await login()).headers.get("set-cookie")?.split(";")[0] ?? "";
  const bytes = async (path: string, body?: object) => {
    const answer = await fetch(`${url}/accounts/${path}`, {
      headers: { ...headers, cookie },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const ask = async (path: string, body?: object) => {
    const answer = await bytes(path, body);
    const text = answer.bytes.toString("utf8");
    return { status: answer.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
  };
  /** A piece of a backup. */
  const restore = async (said: object, piece: Uint8Array) => {
    const answer = await fetch(`${url}/restore`, {
      method: "POST",
      headers: {
        cookie,
        "content-type": "application/octet-stream",
        "x-restore": encodeURIComponent(JSON.stringify(said)),
      },
      body: Buffer.from(piece),
    });
    return { status: answer.status, body: await answer.json() };
  };
  const settings = async (account: string) => {
    await expect
      .poll(
        () =>
          ask(`${account}/settings`).then(
            ({ status }) => status,
            () => 0,
          ),
        minutes(1),
      )
      .toBe(200);
    return (await ask(`${account}/settings`)).body as SettingsDocument;
  };
  const startedAt = async (account: string) => {
    const { body } = await ask(`${account}/overview`).catch(() => ({ body: null }));
    return (body as { readonly bridge?: { readonly started_at: string } } | null)?.bridge?.started_at ?? null;
  };
  return { ask, bytes, restore, settings, startedAt };
}

export const isOnline = (page: Page, account: string) =>
  expect
    .poll(
      async () => JSON.stringify((await page.ask(`${account}/health`).catch(() => ({ body: null }))).body),
      minutes(1),
    )
    .toMatch(/"platform":\{?[^}]*"?online/);

export async function started(accounts: readonly string[]) {
  const { url } = await brokerAndClient();
  const { businessUrl, realtimeUrl } = await platform({ controllers: accounts.length });
  const files = await filesOf(accounts, url, { business_url: businessUrl, realtime_url: realtimeUrl });
  const start = () => startProcess({ folder: files.folder, args: ["fleet"] });
  const program = start();
  const page = await loggedIn(files.port, anna);
  for (const account of accounts) await isOnline(page, account);
  return { ...files, program, start, page };
}

/** Settings by which an account does not come up: they differ in what the bridge finds wrong. */
export async function newerData(folder: string): Promise<string> {
  await mkdir(join(folder, "newer"));
  await writeFile(join(folder, "newer", "format"), "99\n");
  return join(folder, "newer");
}

export const takenBack = (program: Program) => logged(program, "are taken back");
