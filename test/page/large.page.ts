import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
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

/**
 * Sockets that look at the overview and count what comes. A stalled one reads nothing and asks for all of it again and again, so that
 * more is owed to it than its line holds.
 */
async function look(url: string, count: number, isStalled = false) {
  const cookie = await cookieOf(url);
  let bytes = 0;
  const sockets = Array.from(
    { length: count },
    () => new WebSocket(`${url.replace("http", "ws")}/api/live`, { headers: { cookie } }),
  );
  for (const socket of sockets) {
    await new Promise((resolve) => socket.once("open", resolve));
    if (isStalled) socket.pause();
    else socket.on("message", (data: Buffer) => (bytes += data.length));
    for (let times = 0; times < (isStalled ? 200 : 1); times += 1)
      socket.send(JSON.stringify({ subscribe: ["overview", "bridge", "alarms"] }));
  }
  return { bytes: () => bytes, close: () => sockets.forEach((socket) => socket.terminate()) };
}

describe.each([20, 500])("%i controllers", (controllers) => {
  it("cost this much", async () => {
    const simulator = { controllers, speed: 1 };
    const { url, program } = await scene({ simulator, controllers: " {}", http: operator, polling });
    const cookie = await cookieOf(url);
    const known = async () => {
      const answer = await fetch(`${url}/api/controllers`, { headers: { cookie } });
      return Object.keys((await answer.json()) as object).length;
    };
    await expect.poll(known, { timeout: 120_000 }).toBeGreaterThanOrEqual(controllers);
    await pause(minuteMs);
    const { pid } = program();
    const idle = await overAMinute(pid);
    const watching = await look(url, viewers);
    const watched = await overAMinute(pid);
    const bytesAMinute = Math.round(watching.bytes() / viewers);
    watching.close();
    const stalled = await look(url, 20, true);
    const held = await overAMinute(pid);
    stalled.close();
    console.log(
      JSON.stringify({ controllers, idle, watched: { viewers, ...watched, bytesAMinute }, stalled20: held }),
    );
    expect(held.rss_mb - watched.rss_mb).toBeLessThan(40);

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
});
