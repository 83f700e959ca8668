import type { Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { VirtualClock } from "../support/virtual-clock.js";
import { hosted, never } from "./support/client-under-test.js";
import { ok } from "./support/hosts.js";

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000 });

const accepted = async (host: { readonly accepted: number }, count: number): Promise<void> =>
  eventually(() => expect(host.accepted).toBe(count));

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

describe("a connection for a write that will probably follow", () => {
  const prepared = async () => {
    const clock = new VirtualClock();
    const { client, host } = await hosted(() => ok(null), {}, { clock });
    const post = () => client.write("GH-1", "101", "1010", never);
    client.prepareWrite?.();
    return { clock, client, host, post };
  };

  it("is opened before the write, which uses it", async () => {
    const { host, post } = await prepared();
    await accepted(host, 1);
    await post();
    expect(host.accepted).toBe(1);
  });

  it("is awaited by a write that comes while it is being opened", async () => {
    const { host, post } = await prepared();
    await post();
    expect(host.accepted).toBe(1);
  });

  it("is opened once, and not while another stands", async () => {
    const { clock, client, host, post } = await prepared();
    client.prepareWrite?.();
    await post();
    await clock.advance(1_000);
    client.prepareWrite?.();
    await post();
    expect(host.accepted).toBe(1);
  });

  it("is closed after 4 s without a write, which then opens another", async () => {
    const { clock, host, post } = await prepared();
    await accepted(host, 1);
    await clock.advance(4_000);
    await eventually(() => expect(host.open).toBe(0));
    await post();
    expect(host.accepted).toBe(2);
  });

  it.each([
    ["that the server ends", (socket: Socket) => socket.end()],
    ["on which the server speaks first", (socket: Socket) => socket.write("HTTP/1.1 408 Late\r\n\r\n")],
  ])("%s is not used", async (_, does) => {
    const clock = new VirtualClock();
    const { client, host } = await hosted(() => ok(null), {}, { clock });
    host.server.once("connection", (socket: Socket) => does(socket));
    client.prepareWrite?.();
    await eventually(() => expect(host.closed).toBe(1));
    await client.write("GH-1", "101", "1010", never);
    expect(host.accepted).toBe(2);
  });

  it("is closed with the client", async () => {
    const { client, host } = await prepared();
    await accepted(host, 1);
    await client.close();
    await eventually(() => expect(host.open).toBe(0));
  });
});
