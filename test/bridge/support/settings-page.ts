import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { hashPassword } from "../../../src/runtime/passwords.js";
import { tempFolder, until } from "../../mqtt-connection/support.js";
import { freePort } from "../../support/mosquitto.js";
import { brokerAndClient, platform } from "./bridge.js";
import { startProcess } from "./program.js";

export const password = "blue-kettle-on-snow";

/** One that somebody else listens at. */
export async function busyPort(): Promise<number> {
  const taken = createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void taken.close());
  const address = taken.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

interface Place {
  readonly folder: string;
  readonly text: string;
  readonly bridge: ReturnType<typeof startProcess>;
  readonly seen: Awaited<ReturnType<typeof brokerAndClient>>["seen"];
  readonly port: number;
  readonly ask: (path: string, body?: object) => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly logIn: (username: string) => Promise<void>;
  /** Until another run than this is at the page. */
  readonly nextRun: (before: string) => Promise<number>;
  readonly startedAt: () => Promise<string>;
}

export async function running(more = "", env: Readonly<Record<string, string>> = {}): Promise<Place> {
  const folder = await tempFolder();
  const { url, seen } = await brokerAndClient();
  const { businessUrl } = await platform();
  const port = await freePort();
  const text = `# The houses of Anna
platform: { business_url: "${businessUrl}", realtime_url: "${businessUrl}", token: !secret token } # the vendor
mqtt: { url: "${url}" }
http:
  port: ${port}
  users:
    - { username: anna, password: !secret anna, role: admin }
    - { username: olga, password: !secret anna, role: operator }
controllers:
  GH-0001:
    name: East # as on the sign
    actuators:
      fan: { kind: circulation_fan, address: 150 }
${more}`;
  await writeFile(join(folder, "config.yaml"), text, { mode: 0o600 });
  const secrets = `token: canary-token-99\nanna: ${await hashPassword(password)}\n`;
  await writeFile(join(folder, "secrets.yaml"), secrets, { mode: 0o600 });
  const bridge = startProcess({ folder, env });
  await until(() => seen.some(({ topic }) => topic.endsWith("/bridge/info")), "online", [bridge.stderr]);
  let cookie = "";
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/${path}`, {
      headers: { cookie, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    const set = answer.headers.getSetCookie().map((one) => one.split(";")[0]);
    if (set.length > 0) cookie = set.join("; ");
    const told = await answer.text();
    return { status: answer.status, body: told === "" ? null : (JSON.parse(told) as unknown) };
  };
  const startedAt = async () => {
    const { body } = await ask("overview");
    return (body as { readonly bridge: { readonly started_at: string } }).bridge.started_at;
  };
  const nextRun = async (before: string) => {
    const from = performance.now();
    await until(
      async () => {
        const now = await startedAt().catch(() => before);
        return now !== before;
      },
      "another run",
      [bridge.stderr],
    );
    return performance.now() - from;
  };
  const logIn = async (username: string) => {
    expect((await ask("login", { username, password })).status).toBe(204);
  };
  return { folder, text, bridge, seen, port, ask, logIn, startedAt, nextRun };
}
