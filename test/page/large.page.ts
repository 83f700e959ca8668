import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Memory } from "../proof/probed.js";
import { operator, scene, visit, withBrowser } from "./scene.js";

withBrowser();

/*
 * What the page costs with 20 and 500 controllers, in the browser and in the bridge. Figures are printed; only what a phone would
 * suffer from is judged. VIEWERS: how many look at the same time.
 */
const viewers = Number(process.env["VIEWERS"] ?? 5);
const polling = "polling: { controllers: 60s, sensors: 60s, running_status: 5m, actuators: 2m }";
const minuteMs = 60_000;

/** CPU time of a process in ms, and its resident memory in MB. */
function used(pid: number): { readonly cpuMs: number; readonly rssMb: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, rssMb: Math.round((pages * 4) / 1024) };
}

async function overAMinute(pid: number) {
  const before = used(pid);
  await pause(minuteMs);
  const after = used(pid);
  return { cpu_percent: ((after.cpuMs - before.cpuMs) / minuteMs) * 100, rss_mb: after.rssMb };
}

async function cookieOf(url: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ username: "anna", password: "operator-anna" });
  const answer = await fetch(`${url}/api/login`, { method: "POST", headers, body });
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}

async function opened(url: string, count: number): Promise<readonly WebSocket[]> {
  const cookie = await cookieOf(url);
  const sockets = Array.from(
    { length: count },
    () => new WebSocket(`${url.replace("http", "ws")}/api/live`, { headers: { cookie } }),
  );
  await Promise.all(sockets.map((socket) => once(socket, "open")));
  return sockets;
}

/** Sockets that look at the overview and count what comes. */
async function look(url: string, count: number) {
  let bytes = 0;
  const sockets = await opened(url, count);
  for (const socket of sockets) {
    socket.on("message", (data: Buffer) => (bytes += data.length));
    socket.send(JSON.stringify({ subscribe: ["overview", "bridge", "alarms"] }));
  }
  return { bytes: () => bytes, close: () => sockets.forEach((socket) => socket.terminate()) };
}

/** Sockets that read nothing and ask for all of it again and again, so that more is owed to them than the kernel takes, some 4 MB. */
async function stall(url: string, count: number) {
  const sockets = await opened(url, count);
  const controllers = Array.from(
    { length: 15 },
    (_, at) => `controller/gh-${String(at + 1).padStart(4, "0")}`,
  );
  const subscribe = ["overview", "bridge", "alarms", "journal", "log", ...controllers];
  for (const socket of sockets) {
    socket.pause();
    // Who is let go while he asks finds his line broken.
    socket.on("error", () => undefined);
  }
  const asking = setInterval(() => {
    for (const socket of sockets)
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ subscribe }));
  }, 250);
  return () => {
    clearInterval(asking);
    for (const socket of sockets) socket.terminate();
  };
}

const socketsOf = ({ handles }: Memory): number => handles["TCPSocketWrap"] ?? 0;

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/** What a program holds in MB, and what the system counts as its own: the mean of three looks within half a minute. */
async function held(memory: () => Promise<Memory>) {
  const found: Memory[] = [];
  for (let times = 0; times < 3; times += 1) {
    await pause(10_000);
    found.push(await memory());
  }
  const mb = (bytesOf: (one: Memory) => number) =>
    Number((mean(found.map(bytesOf)) / 1024 / 1024).toFixed(1));
  return {
    held_mb: mb(({ heapUsed, arrayBuffers }) => heapUsed + arrayBuffers),
    rss_mb: mb(({ rss }) => rss),
    sockets: Math.round(mean(found.map(socketsOf))),
  };
}

/** A bridge that knows all its controllers, since a minute. */
async function settled(controllers: number) {
  const simulator = { controllers, speed: 1 };
  const found = await scene({ simulator, controllers: " {}", http: operator, polling });
  const cookie = await cookieOf(found.url);
  const known = async () => {
    const answer = await fetch(`${found.url}/api/controllers`, { headers: { cookie } });
    return Object.keys((await answer.json()) as object).length;
  };
  await expect.poll(known, { timeout: 120_000 }).toBeGreaterThanOrEqual(controllers);
  await pause(minuteMs);
  return found;
}

describe.each([20, 500])("%i controllers", (controllers) => {
  it("cost this much", async () => {
    const { url, program } = await settled(controllers);
    const { pid } = program();
    const idle = await overAMinute(pid);
    const watching = await look(url, viewers);
    const watched = await overAMinute(pid);
    const bytesAMinute = Math.round(watching.bytes() / viewers);
    watching.close();
    console.log(JSON.stringify({ controllers, idle, watched: { viewers, ...watched, bytesAMinute } }));

    const { page, complaints } = await visit(url);
    await page.getByLabel("Name").fill("anna");
    await page.getByLabel("Password").fill("operator-anna");
    const began = performance.now();
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator(".row").first().waitFor();
    const firstRowMs = Math.round(performance.now() - began);
    const browser = await page.evaluate(async (ms) => {
      let longMs = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((one) => (longMs += one.duration))).observe(
        { type: "longtask" },
      );
      await new Promise((resolve) => setTimeout(resolve, ms));
      const memory = (performance as unknown as { memory?: { usedJSHeapSize: number } }).memory;
      const [paint] = performance.getEntriesByName("first-contentful-paint");
      return {
        long_tasks_ms_a_minute: Math.round(longMs),
        heap_mb: Math.round((memory?.usedJSHeapSize ?? 0) / 1e6),
        first_paint_ms: Math.round(paint?.startTime ?? 0),
        nodes: document.querySelectorAll("*").length,
      };
    }, minuteMs);
    console.log(JSON.stringify({ controllers, firstRowMs, ...browser }));
    expect(browser.nodes).toBeLessThan(3_000);
    expect(browser.heap_mb).toBeLessThan(60);
    expect(complaints).toEqual([]);
  });

  it("are held once for each of twenty readers that stall, and for no longer than they do", async () => {
    const { url, memory } = await settled(controllers);
    const before = await held(memory);
    const thirds: Awaited<ReturnType<typeof held>>[] = [];
    for (let third = 0; third < 3; third += 1) {
      const end = await stall(url, 20);
      await pause(20_000);
      const found = await held(memory);
      thirds.push(found);
      expect(found.sockets).toBeGreaterThan(before.sockets + 10);
      // Only of who took nothing for a minute: the proof that they stalled.
      await expect
        .poll(async () => socketsOf(await memory()), { timeout: 180_000, interval: 5_000 })
        .toBeLessThan(found.sockets - 10);
      end();
    }
    const after = await held(memory);
    console.log(JSON.stringify({ controllers, before, thirds, after }));
    const [, middle = before, last = before] = thirds;
    expect(middle.held_mb - before.held_mb).toBeLessThan(25);
    expect(last.held_mb - middle.held_mb).toBeLessThan(2);
    expect(after.held_mb - before.held_mb).toBeLessThan(5);
  });
});
