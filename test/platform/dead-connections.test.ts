import { expect, it, onTestFinished } from "vitest";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { factsOf, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { ok, startFakeHost } from "./support/fake-host.js";

it("once a host answers again, no request is lost on a connection that was made while it did not", async () => {
  const host = await startFakeHost(() => ok([]));
  const proxy = await startTcpProxy(Number(new URL(host.url).port));
  onTestFinished(() => proxy.close());
  const clock = new VirtualClock();
  const timeouts = { connect: 5_000, read: 15_000, control: 30_000 };
  const { client } = makeClient(settingsFor(`http://127.0.0.1:${proxy.port}`, { timeouts }), {
    clock,
  });
  await proxy.manner("black_hole");
  const lost = Array.from({ length: 12 }, (_, n) => factsOf(client.sensors(`GH-${n}`, never)));
  await expect.poll(() => proxy.accepted).toBeGreaterThanOrEqual(1);
  for (let n = 0; n < 12; n += 1) await clock.advance(5_000);
  expect((await Promise.all(lost)).map(({ kind }) => kind)).toContain("timeout");
  await proxy.manner("pass");
  await clock.advance(120_000);
  await expect(client.sensors("GH-1", never)).resolves.toEqual([]);
});
