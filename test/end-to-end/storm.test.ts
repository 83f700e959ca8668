import { expect } from "vitest";
import { it } from "./support/staged.js";

/* The storm day of the demo, three times as fast as people watch it. */

interface Found {
  readonly state: string;
  readonly type: string;
}

it(
  "the storm day of the demo: guards hold and send, also blind; a lock and a lease; alarms come, are seen and go",
  { timeout: 240_000 },
  async ({ stage }) => {
    const demo = stage.program(["demo", "--storm", "--speed", "60"]);
    const [, page = ""] = await demo.untilPrinted(/Page: (http:\S+?)\/ /, 20_000);
    await demo.untilPrinted(/The storm day is over/, 200_000);
    const { stdout } = demo;
    expect(stdout).not.toContain("not seen in time");
    for (const line of [
      "valve_1 lease: on until",
      "right_skylight lock: ben (mending the gear)",
      "right_skylight close → refused (interlock)",
      "left_skylight close → confirmed",
      "guard_unmet.gh-0001.right_skylight alarm: active",
      "guard_unmet.gh-0001.right_skylight alarm: acknowledged by anna",
      "left_skylight 60 → refused (interlock)",
      "guard_unmet.gh-0001.right_skylight alarm: cleared",
      "guard_blind.gh-0001.left_skylight alarm: active",
      "guard_blind.gh-0001.left_skylight alarm: cleared",
      "valve_1 lease: none",
    ])
      expect(stdout).toContain(line);
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ username: "demo", password: "demo" });
    const login = await fetch(`${page}/api/login`, { method: "POST", headers, body });
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    const get = async (path: string) => (await fetch(`${page}/${path}`, { headers: { cookie } })).json();
    const alarms = Object.values((await get("api/alarms")) as Record<string, Found>);
    expect(alarms.map(({ type, state }) => `${type} ${state}`).sort()).toEqual([
      ...["guard_blind cleared", "guard_blind cleared", "guard_unmet cleared"],
    ]);
    const { records } = (await get("api/journal")) as { records: { result?: { by: string } }[] };
    const senders = new Set(records.map(({ result }) => result?.by.replace(/^lease .*/, "lease")));
    expect([...senders]).toEqual(expect.arrayContaining(["anna", "rule wind", "lease"]));
    demo.signal("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 0 });
  },
);
