import { expect } from "vitest";
import { packet } from "../fuzz/packets.js";
import { type Bench, type Check, expectThrownOut, lasting, limited, login, valueOf } from "./bench.js";
import { connectPacket, pingPacket, publishPacket, subscribePacket } from "./packets.js";

/* CONNECT and CONNACK, client ids, logins, keep alive, the end of a connection. */

const refusal = ({ version }: Bench, code311: number, code5: number) => (version === 5 ? code5 : code311);
const wrongLogin = { username: "nobody", password: "conformance-nobody" };

export const connectComesFirst: Check = async ({ raw, version, name }) => {
  for (const bytes of [pingPacket, publishPacket(version, { topic: name() })]) {
    const peer = await raw();
    peer.send(bytes);
    await expectThrownOut(peer);
  }
};

export const connectComesOnce: Check = async ({ client, version, name }) => {
  const peer = await client();
  peer.send(connectPacket(version, { id: name("again"), ...login }));
  await expectThrownOut(peer);
};

export const keepAlive: Check = async ({ client }) => {
  // The broker hears CONNECT at some time after this; on a busy machine long before we hear its answer.
  const lastHeard = performance.now();
  const peer = await client({ keepAlive: 1 });
  expect((await peer.untilEnd()).filter(({ type }) => type !== "disconnect")).toEqual([]);
  expect(performance.now() - lastHeard).toBeGreaterThan(1_400);
};

export const keepAliveOfClient: Check = async (bench) => {
  const { raw, name } = bench;
  const connack = await (await raw()).connect({ id: name("k"), ...login, keepAlive: 1 });
  expect(valueOf(connack, "server keep alive")).toBe(undefined);
  await keepAlive(bench);
};

export const idIsTheSession: Check = async (bench) => {
  const { client, raw, name } = bench;
  const peer = await client(lasting(bench));
  await peer.subscribe([[name(), 1]]);
  const other = await raw();
  const { sessionPresent } = await other.connect({ ...login, ...lasting(bench), id: name("other") });
  expect(sessionPresent).toBe(false);
  await peer.ping();
};

export const idMissing: Check = async ({ raw, version }) => {
  const whole = connectPacket(version, { id: "" });
  const peer = await raw();
  peer.send(packet(0x10, whole.slice(2, -2)));
  await expectThrownOut(peer);
};

export const plainIds: Check = async ({ raw, version }) => {
  const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const ids = [alphabet.slice(0, 23), alphabet.slice(23, 46), alphabet.slice(46), String(version)];
  for (const id of ids) expect((await (await raw()).connect({ ...login, id })).code).toBe(0);
};

export const emptyIdIsGiven: Check = async ({ client, name }) => {
  const peers = [await client({ id: "" }), await client({ id: "" })];
  for (const peer of peers) {
    await peer.subscribe([[name(), 0]]);
    await peer.ping();
  }
};

export const emptyIdWithSession: Check = async (bench) => {
  const peer = await bench.raw();
  const { code } = await peer.connect({ ...login, id: "", clean: false });
  expect(code).toBe(2);
  expect(await peer.untilEnd()).toEqual([]);
};

async function given({ raw }: Bench) {
  const peer = await raw();
  const id = valueOf(await peer.connect({ ...login, id: "" }), "assigned client id");
  if (typeof id !== "string" || id === "") throw new Error("the CONNACK names no client id");
  return { peer, id };
}

export const givenIdIsTold: Check = async (bench) => {
  const { peer, id } = await given(bench);
  // It can be used like any other: whoever comes with it takes over.
  await bench.client({ id });
  expect(await peer.untilEnd()).toMatchObject([{ type: "disconnect", code: 0x8e }]);
};

export const idOfAnotherUser: Check = async (bench) => {
  const id = bench.name("owned");
  const owner = await bench.client({ id });
  const peer = await bench.raw();
  const { code, sessionPresent } = await peer.connect({ ...limited, id });
  expect([code, sessionPresent]).toEqual([refusal(bench, 2, 0x85), false]);
  expect(await peer.untilEnd()).toEqual([]);
  await owner.ping();
};

export const takenOver: Check = async ({ client, name }) => {
  const id = name("twice");
  const first = await client({ id });
  const second = await client({ id });
  const last = await first.untilEnd();
  expect(last).toMatchObject(first.version === 5 ? [{ type: "disconnect", code: 0x8e }] : []);
  await second.ping();
};

export const accepted: Check = async ({ raw, name }) => {
  const connack = await (await raw()).connect({ id: name("in"), ...login });
  expect(connack).toMatchObject({ code: 0, sessionPresent: false });
  for (const unasked of ["authentication method", "response information"])
    expect(valueOf(connack, unasked)).toBe(undefined);
};

export const nothingAfterRefusal: Check = async (bench) => {
  const { raw, version, name } = bench;
  const watcher = await bench.client();
  await watcher.subscribe([[name(), 0]]);
  const peer = await raw();
  peer.send(
    connectPacket(version, { id: name("x"), ...wrongLogin }),
    publishPacket(version, { topic: name() }),
  );
  expect((await peer.next("connack")).code).not.toBe(0);
  expect(await peer.untilEnd()).toEqual([]);
  await watcher.getsNothingFrom(await bench.client());
};

export const connackComesFirst: Check = async ({ raw, version, name }) => {
  const peer = await raw();
  peer.send(
    connectPacket(version, { id: name("eager"), ...login }),
    subscribePacket(version, 1, [[name(), 0]]),
  );
  await peer.next("connack");
  await peer.next("suback");
};

export const refusedLogin: Check = async (bench) => {
  const peer = await bench.raw();
  const { code, sessionPresent } = await peer.connect({ id: bench.name("x"), ...wrongLogin });
  expect([code, sessionPresent]).toEqual([refusal(bench, 4, 0x86), false]);
  expect(await peer.untilEnd()).toEqual([]);
};

export const refusalKeepsSession: Check = async (bench) => {
  const { client, raw, name } = bench;
  await (await client(lasting(bench))).subscribe([[name(), 1]]);
  const { code, sessionPresent } = await (await raw()).connect({ ...lasting(bench), ...wrongLogin });
  expect(code).not.toBe(0);
  expect(sessionPresent).toBe(false);
};

export const ping: Check = async ({ client }) => {
  await (await client()).ping();
};

export const unknownAuthentication: Check = async ({ raw, name }) => {
  const peer = await raw();
  const properties = [["authentication method", "SCRAM-SHA-1"]] as const;
  expect((await peer.connect({ id: name("a"), ...login, properties })).code).toBe(0x8c);
  expect(await peer.untilEnd()).toEqual([]);
};
