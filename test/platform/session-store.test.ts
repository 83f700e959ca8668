import { expect, it } from "vitest";
import { SessionStore } from "../../src/platform/session/session-store.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

it("a session that is kept twice at once is known to the next start", async () => {
  const disk: { text: string | null } = { text: null };
  const written: string[] = [];
  const files = {
    read: () => Promise.resolve(disk.text),
    version: () => Promise.resolve(null),
    writePrivate: (_: string, text: string) => Promise.resolve(void written.push(text)),
  };
  const clock = new VirtualClock();
  const made: (() => void)[] = [];
  const markOf = (account: string, salt: Buffer) => Buffer.concat([Buffer.from(account), salt]);
  const derive = (account: string, salt: Buffer) =>
    new Promise<Buffer>((resolve) => made.push(() => resolve(markOf(account, salt))));
  const store = new SessionStore("data", "anna", derive, { files, clock, log: silentLog });
  const empty = await new SessionStore("data", "anna", derive, { files, clock, log: silentLog }).load();
  const session = { ...empty, vain: new Map([["40101", 1]]) };
  const kept = [store.save(session), store.save(session)];
  for (const make of made) make();
  await Promise.all(kept);
  const atOnce = (account: string, salt: Buffer) => Promise.resolve(markOf(account, salt));
  const next = new SessionStore("data", "anna", atOnce, { files, clock, log: silentLog });
  // Either may come to the disk last.
  expect(written).toHaveLength(2);
  for (const text of written) {
    disk.text = text;
    expect((await next.load()).vain).toEqual(session.vain);
  }
});
