import { expect, it, onTestFinished } from "vitest";
import { notifyRunning } from "../../src/notify/requests.js";
import { silentLog } from "../support/builders.js";
import { withNotify } from "./servers.js";

/* Whether there is a way to tell people changes while the bridge runs. */

async function scene(ways: string) {
  const now = { configuration: await withNotify(`{ ways: { ${ways} } }`) };
  const story: string[] = [];
  const make = () => {
    story.push("made");
    return Promise.resolve({
      run: (signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          story.push("runs");
          signal.addEventListener("abort", () => resolve(void story.push("ends")));
        }),
      reload: () => Promise.resolve(void story.push("reloads")),
      test: () => "tested",
      daily: (isSent: boolean) => `daily ${isSent}`,
    });
  };
  const people = await notifyRunning(make, () => now.configuration, silentLog);
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const ended = people.part?.run?.(over.signal);
  const end = async () => {
    over.abort();
    await ended;
  };
  const ask = (name: string) => {
    const [, , handler] = people.requests?.find(([one]) => one === name) ?? [];
    return handler?.({}, over.signal, null);
  };
  const set = async (next: string) => {
    now.configuration = await withNotify(`{ ways: { ${next} } }`);
    people.reload?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { story, ask, set, end };
}

const phone = "phone: { ntfy: { topic: house } }";

it("with the first way people are told from then on, and until the end", async () => {
  const { story, ask, set, end } = await scene("");
  expect(() => ask("notify_test")).toThrow(/No way is configured/);
  await set(phone);
  expect([ask("notify_test"), ask("notify_daily")]).toEqual(["tested", "daily true"]);
  await end();
  expect(story).toEqual(["made", "runs", "ends"]);
});

it("without the last way nobody can be told, and with one again the same goes on", async () => {
  const { story, ask, set, end } = await scene(phone);
  await set("");
  expect(() => ask("notify_daily")).toThrow(/No way is configured/);
  await set(phone);
  expect(ask("notify_test")).toBe("tested");
  await end();
  expect(story).toEqual(["made", "runs", "reloads", "reloads", "ends"]);
});
