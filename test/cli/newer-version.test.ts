import { describe, expect, it, vi } from "vitest";
import { isNewer, NewerVersion } from "../../src/cli/newer-version.js";
import { VirtualClock } from "../support/virtual-clock.js";

const answering = (body: unknown, status = 200) =>
  vi.fn(() => Promise.resolve(new Response(JSON.stringify(body), { status })));

const asked = (fetch: ReturnType<typeof answering>, wanted = true) => {
  const clock = new VirtualClock();
  return { clock, newer: new NewerVersion(clock, fetch, "0.2.0", () => wanted) };
};

describe("a newer version", () => {
  it.each([
    ["0.2.1", "0.2.0", true],
    ["0.10.0", "0.9.9", true],
    ["1.0.0", "0.9.9", true],
    ["0.2.0", "0.2.0", false],
    ["0.1.9", "0.2.0", false],
    ["0.3.0-beta.1", "0.2.0", false],
    ["latest", "0.2.0", false],
  ] as const)("%s is newer than %s: %s", (one, other, wanted) => {
    expect(isNewer(one, other)).toBe(wanted);
  });

  it("is asked for once a day, and told", async () => {
    const fetch = answering({ version: "0.3.0" });
    const { newer, clock } = asked(fetch);
    await newer.look();
    expect([newer.found, fetch.mock.calls.length]).toEqual(["0.3.0", 1]);
    await clock.advance(86_400_000);
    expect([newer.found, fetch.mock.calls.length]).toEqual(["0.3.0", 2]);
  });

  it("is asked of nobody unless it was chosen", () => {
    const fetch = answering({ version: "0.3.0" });
    expect([asked(fetch, false).newer.found, fetch.mock.calls.length]).toEqual([null, 0]);
  });

  it("is asked for at one address, which leads nowhere else", async () => {
    const fetch = answering({ version: "0.3.0" });
    await asked(fetch).newer.look();
    expect(fetch.mock.calls).toEqual([
      ["https://registry.npmjs.org/greenhouse2mqtt/latest", expect.objectContaining({ redirect: "error" })],
    ]);
  });

  it.each([
    ["an answer without end", 200, 66],
    ["an error", 503, 0],
  ])("reads of %s no more than it needs, and ends it", async (_, status, most) => {
    const seen = { pieces: 0, isCancelled: false };
    const body = new ReadableStream<Uint8Array>({
      pull: (to) => {
        seen.pieces += 1;
        to.enqueue(Buffer.alloc(1_024, " "));
      },
      cancel: () => {
        seen.isCancelled = true;
      },
    });
    const { newer } = asked(vi.fn(() => Promise.resolve(new Response(body, { status }))));
    await newer.look();
    expect([newer.found, seen.isCancelled]).toEqual([null, true]);
    expect(seen.pieces).toBeLessThanOrEqual(most + 1);
  });

  it.each([
    ["an answer that is none", { error: "x" }, 200],
    ["an error", { version: "0.3.0" }, 503],
  ] as const)("is not made up from %s", async (_, body, status) => {
    const { newer } = asked(answering(body, status));
    await newer.look();
    expect(newer.found).toBeNull();
  });
});
