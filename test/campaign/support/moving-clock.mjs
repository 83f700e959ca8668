/*
 * Loaded into the bridge before anything else (`node --import`): its wall clock is off by as many ms as the file named
 * in CAMPAIGN_CLOCK says, read again at SIGUSR2. The monotonic clock and all timers stay as they are, as when a computer's
 * clock is set.
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
