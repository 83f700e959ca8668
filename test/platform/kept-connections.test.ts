import { expect, it } from "vitest";
import { VirtualClock } from "../support/virtual-clock.js";
import { hosted, never } from "./support/client-under-test.js";
import { ok } from "./support/hosts.js";

it.each([
  ["without a hint of the server", {}],
  ["where the server offers to keep it for longer", { "keep-alive": "timeout=120" }],
])("a connection for POSTs that nothing used for 4 s is not used again: %s", async (_, headers) => {
  const clock = new VirtualClock();
  const { client, host } = await hosted(() => ({ ...ok(null), headers }), {}, { clock });
  const post = () => client.write("GH-1", "101", "1010", never);
  await post();
  await clock.advance(3_900);
  await post();
  expect(host.accepted).toBe(1);
  await clock.advance(4_000);
  await post();
  expect(host.accepted).toBe(2);
});

it("a connection for polls stands between the polls of a small account, half a minute at most", async () => {
  const clock = new VirtualClock();
  const { client, host } = await hosted(() => ok([]), {}, { clock });
  const poll = () => client.controllers(never);
  await poll();
  for (const pauseMs of [16_000, 29_000]) {
    await clock.advance(pauseMs);
    await poll();
  }
  expect(host.accepted).toBe(1);
  await clock.advance(31_000);
  await poll();
  expect(host.accepted).toBe(2);
});
