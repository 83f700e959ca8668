/*
 * Loaded into the bridge before anything else (`node --import`): shifts its wall clock by the ms in the file named by
 * CAMPAIGN_CLOCK, which is read again at SIGUSR2. The monotonic clock and all timers are unaffected, as when a
 * computer's clock is set.
 */
import { readFileSync } from "node:fs";

const RealDate = Date;
const read = () => {
  try {
    return Number(readFileSync(process.env.CAMPAIGN_CLOCK, "utf8")) || 0;
  } catch {
    return 0;
  }
};
let offMs = read();
process.on("SIGUSR2", () => {
  offMs = read();
});
class MovedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + offMs);
    else super(...args);
  }

  static now() {
    return RealDate.now() + offMs;
  }
}
globalThis.Date = MovedDate;
