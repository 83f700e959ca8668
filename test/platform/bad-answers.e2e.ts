import { describe, expect, it } from "vitest";
import { factsOf, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { startRawHost } from "./support/raw-host.js";

describe("total deadlines", () =>
  it("1,000 exchanges that time out leave no connection behind", async () => {
    const host = await startRawHost(() => undefined);
    const timeouts = { connect: 1_000, read: 20, control: 20 };
    const { client } = makeClient(settingsFor(host.url, { timeouts }));
    for (let round = 0; round < 125; round += 1)
      await Promise.all(Array.from({ length: 8 }, () => factsOf(client.connection("GH-1", never))));
    await expect.poll(() => host.open, { timeout: 50_000 }).toBe(0);
    expect(host.accepted).toBeGreaterThanOrEqual(500);
  }));
