import { type Row, stayedOnline } from "../row.js";

/* The WebSocket channels. Polling goes on, so nothing may be felt by a command. */

const push = (name: string, mode: string, holdMs: number): Row => ({
  name,
  how: `push ${mode} for ${holdMs / 1_000} s`,
  expected: "polling goes on; commands and readings do not suffer",
  holdMs,
  reducedHoldMs: Math.min(holdMs, 8_000),
  hits: "nothing",
  limitMs: 60_000,
  begin: ({ platform }) => platform.tell("push", { mode }),
  end: ({ platform }) => platform.tell("push", { mode: "normal" }),
  check: stayedOnline,
});

export const pushRows: readonly Row[] = [
  {
    ...push("push flapping", "drop", 16_000),
    how: "all channels broken every 2 s, eight times",
    aboutMs: 18_000,
    begin: async ({ platform }) => {
      for (let turn = 0; turn < 8; turn += 1) {
        await platform.tell("push", { mode: "drop" });
        await new Promise((resolve) => setTimeout(resolve, 2_000));
      }
    },
  },
  push("push black hole", "black_hole", 50_000),
  push("push garbled", "garbled", 12_000),
  push("push silent", "silent", 12_000),
  push("push refused", "refuse", 12_000),
];
