import { failed, notTried, ok, warning, type Verdict } from "./finding.js";
import type { Check } from "./scene.js";

/** As the bridge itself judges: beyond this the clock is not trusted. */
const trustedMs = 120_000;
const exactMs = 30_000;

export const clockCheck: Check = {
  id: "clock",
  needs: [],
  run: ({ platform }) => Promise.resolve(clockVerdict(platform.clockSkewMs())),
};

/** `skewMs`: how far the platform's clock is ahead of ours; null while no answer carried a date. */
export function clockVerdict(skewMs: number | null): Verdict {
  if (skewMs === null) return notTried("no answer of the platform told its time");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const off = `this computer's clock is ${spoken(seconds)} ${skewMs > 0 ? "behind" : "ahead of"} the platform's`;
  if (Math.abs(skewMs) <= exactMs) return ok("this computer's clock agrees with the platform's");
  const remedy = "switch on network time (`timedatectl set-ntp true`) and check this computer's clock";
  return Math.abs(skewMs) <= trustedMs
    ? warning(off, remedy)
    : failed(`${off}: readings get a wrong age, and commands that carry a time are refused`, remedy);
}

/** `45 s`, `12 min`, `8.0 h`, `3 days`. */
export function spoken(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
