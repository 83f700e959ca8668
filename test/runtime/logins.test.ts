import { describe, expect, it } from "vitest";
import { sourceShare, ThrottledLogins, unknownUserHash } from "../../src/runtime/logins.js";
import { hashPassword } from "../../src/runtime/passwords.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** A second's worth of wrong logins, so that few hashes fill what a source has. */
const limits = { loginAttempts: 1, loginTurnMs: 2_000, longestWaitMs: 2_000 };
const source = { key: "this computer", share: sourceShare };

describe("while somebody guesses under other names from the same computer", async () => {
  const right = "a-password-of-hers";
  const stored = await hashPassword(right);

  async function scene() {
    const clock = new VirtualClock();
    const logins = new ThrottledLogins(limits, clock);
    const nobody = async (name: string) => {
      const guessers = [{ key: name, share: 1 }, source];
      const checked = await logins.check(guessers, "a guess", unknownUserHash);
      if (checked === false) logins.onFailure(guessers);
      return checked;
    };
    const owner = async (password: string) => {
      const own = { key: "owner", share: 1 };
      const guessers = [own, source];
      const isRight = (checked: boolean) => checked;
      const checked = await logins.check(guessers, password, stored, { guesser: own, isRight });
      if (checked === false) logins.onFailure(guessers);
      return checked;
    };
    for (let times = 0; times < sourceShare; times += 1) expect(await nobody(`n${times}`)).toBe(false);
    // As many as may wait for a turn, and one more who may not.
    const waiting = Array.from({ length: sourceShare }, (_, at) => nobody(`w${at}`));
    expect(await nobody("more")).toBe("blocked");
    return { clock, logins, nobody, owner, waiting };
  }

  it("the right password is let in at once", async () => {
    const { owner, logins, waiting } = await scene();
    expect(await owner(right)).toBe(true);
    logins.close();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["busy"]));
  });

  it("a wrong one is told as every other is, and no more are tried than without the flood", async () => {
    const { owner, logins, waiting } = await scene();
    expect(await owner("wrong")).toBe("blocked");
    // Its own allowance is used up, also for the right one.
    expect(await owner(right)).toBe("blocked");
    logins.close();
    await Promise.all(waiting);
  });

  it("what was tried beside the line has taken a turn of it", async () => {
    const { clock, owner, nobody, logins } = await scene();
    await owner("wrong");
    // Without it one of the waiting had left its place by now.
    await clock.advance(200);
    expect(await nobody("later")).toBe("blocked");
    await clock.advance(200);
    const later = nobody("later still");
    await clock.advance(2_000);
    expect(await later).toBe(false);
    logins.close();
  });
});
