import { afterEach, describe, expect, it } from "vitest";
import { factsOf, makeClient, never, settingsFor, Workshop } from "./support/client-under-test.js";
import { startRawHost } from "./support/raw-host.js";

const workshop = new Workshop();
afterEach(() => workshop.close());

describe("total deadlines", () =>
  it("1,000 exchanges that time out leave no connection behind", async () => {
    const host = workshop.keep(await startRawHost(() => undefined));
    const timeouts = { connect: 1_000, read: 20, control: 20 };
    const { client } = makeClient(workshop, settingsFor(host.url, { timeouts }));
    for (let round = 0; round < 125; round += 1)
      await Promise.all(Array.from({ length: 8 }, () => factsOf(client.connection("GH-1", never))));
    await expect.poll(() => host.open, { timeout: 50_000 }).toBe(0);
    expect(host.accepted).toBeGreaterThanOrEqual(500);
  }));
