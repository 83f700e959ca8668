import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NameError, Names, addressesIn, candidatesFor, sourcesAt } from "../../src/runtime/host-names.js";
import type { Answer, NameSources } from "../../src/runtime/host-names.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { nameServer } from "../support/name-server.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const host = "platform.example";

/** Sources whose answers are given one by one. */
function scripted(hosts = "") {
  const questions: {
    readonly who: string;
    readonly name: string;
    answer(addresses: readonly string[]): void;
    fail(code: NameError["code"]): void;
  }[] = [];
  const ask = (who: string, name: string, signal: AbortSignal) =>
    new Promise<readonly string[]>((resolve, reject) => {
      const fail = (code: NameError["code"]) => reject(new NameError(code, name));
      signal.addEventListener("abort", () => fail("EAI_AGAIN"));
      questions.push({ who, name, answer: resolve, fail });
    });
  const sources: NameSources = {
    hosts: () => hosts,
    servers: async (name, signal): Promise<Answer> => ({ addresses: await ask("servers", name, signal) }),
    system: (name, signal) => ask("system", name, signal),
    each: () => Promise.resolve([]),
  };
  const clock = new VirtualClock();
  return { clock, names: new Names(clock, sources), questions };
}

const told = async (found: Promise<readonly string[]> | null) =>
  found === null
    ? null
    : found.catch((error: unknown) => (error instanceof NameError ? error.code : String(error)));

describe("looking a host up", () => {
  it.each([
    ["192.0.2.7", ["192.0.2.7"]],
    ["2001:db8::7", ["2001:db8::7"]],
    ["localhost", ["::1", "127.0.0.1"]],
    ["broker.localhost.", ["::1", "127.0.0.1"]],
  ])("%s needs no look-up", (given, kept) => {
    const { names, questions } = scripted();
    expect(names.find(given)).toEqual({ kept, newer: null });
    expect(questions).toEqual([]);
  });

  it("this computer's own file comes first", async () => {
    const { names, questions } = scripted(
      "127.0.1.1 pi\n192.0.2.9 Platform.example other # 192.0.2.1 none\n",
    );
    expect(await names.addresses(host)).toEqual(["192.0.2.9"]);
    expect([questions, names.originOf(host)]).toEqual([[], "hosts"]);
  });

  it("there is one look-up at a time for a name, and another name does not wait for it", async () => {
    const { names, questions } = scripted();
    const both = [names.addresses(host), names.addresses(host)];
    const other = names.addresses("messenger.example");
    questions[1]?.answer(["192.0.2.2"]);
    expect(await other).toEqual(["192.0.2.2"]);
    questions[0]?.answer(["192.0.2.1"]);
    expect(await Promise.all(both)).toEqual([["192.0.2.1"], ["192.0.2.1"]]);
    expect(questions.map(({ name }) => name)).toEqual([host, "messenger.example"]);
  });

  it("addresses are used for 30 s without another, then at once while a newer one goes on, however it ends", async () => {
    const { names, questions, clock } = scripted();
    const first = names.addresses(host);
    questions[0]?.answer(["192.0.2.1"]);
    await first;
    await clock.advance(29_000);
    expect(names.find(host)).toEqual({ kept: ["192.0.2.1"], newer: null });
    await clock.advance(2_000);
    const { kept, newer } = names.find(host);
    expect(kept).toEqual(["192.0.2.1"]);
    await clock.advance(10_000);
    expect(await told(newer)).toBe("EAI_AGAIN");
    expect(names.find(host).kept).toEqual(["192.0.2.1"]);
    expect(questions.at(-1)?.name).toBe(host);
  });

  it("addresses that nothing has shown to be right for ten minutes wait a second for newer ones", async () => {
    const { names, questions, clock } = scripted();
    const first = names.addresses(host);
    questions[0]?.answer(["192.0.2.1"]);
    await first;
    await clock.advance(400_000);
    names.connected(host, "192.0.2.1");
    await clock.advance(400_000);
    expect(names.find(host).kept).toEqual(["192.0.2.1"]);
    await clock.advance(250_000);
    const silent = names.find(host);
    expect(silent.kept).toEqual([]);
    const asked = told(silent.newer);
    await clock.advance(1_000);
    expect(await asked).toEqual(["192.0.2.1"]);
    await clock.advance(20_000);
    const answered = told(names.find(host).newer);
    questions.at(-1)?.answer(["192.0.2.5"]);
    expect(await answered).toEqual(["192.0.2.5"]);
  });

  it("the system is asked where no name server answers in time, and where they know no such name", async () => {
    const { names, questions, clock } = scripted();
    const late = names.addresses(host);
    await clock.advance(1_500);
    expect(questions.map(({ who }) => who)).toEqual(["servers", "system"]);
    questions[1]?.answer(["192.0.2.1"]);
    expect(await late).toEqual(["192.0.2.1"]);
    const unknown = names.addresses("nas");
    questions[2]?.fail("ENOTFOUND");
    await settled();
    questions[3]?.answer(["192.0.2.3"]);
    expect([await unknown, names.originOf("nas")]).toEqual([["192.0.2.3"], "system"]);
  });

  it("names of the link alone are not for name servers", async () => {
    const { names, questions } = scripted();
    const found = names.addresses("broker.local");
    expect(questions.map(({ who }) => who)).toEqual(["system"]);
    questions[0]?.answer(["192.0.2.4"]);
    expect(await found).toEqual(["192.0.2.4"]);
  });

  it.each([
    ["ENOTFOUND", "ENOTFOUND"],
    ["EAI_AGAIN", "EAI_AGAIN"],
  ] as const)("without an address it says what the name servers say: %s", async (servers, code) => {
    const { names, questions } = scripted();
    const asked = told(names.addresses(host));
    questions[0]?.fail(servers);
    await settled();
    questions[1]?.fail("ENOTFOUND");
    expect(await asked).toBe(code);
  });

  it("it ends after 10 s, whoever stays silent", async () => {
    const { names, clock } = scripted();
    const asked = told(names.addresses(host));
    await clock.advance(10_000);
    expect([await asked, clock.pendingTimers]).toEqual(["EAI_AGAIN", 0]);
  });

  it("the address of the newest connection comes first, then the families by turns", async () => {
    const { names, questions } = scripted();
    const first = names.addresses(host);
    questions[0]?.answer(["2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"]);
    expect(await first).toEqual(["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"]);
    names.connected(host, "192.0.2.2");
    expect(names.find(host).kept).toEqual(["192.0.2.2", "2001:db8::1", "192.0.2.1", "2001:db8::2"]);
  });
});

it("lines of a hosts file count that begin with an address", () => {
  const text = "# 192.0.2.1 pi\n192.0.2.2\tone PI\nnonsense pi\n2001:db8::2 pi.\n192.0.2.3 pizza";
  expect(addressesIn(text, "Pi")).toEqual(["192.0.2.2"]);
});

it.each([
  ["pi", "nameserver 192.0.2.1\nsearch a.example b.example", ["pi.a.example", "pi.b.example", "pi"]],
  ["pi.home", "domain a.example", ["pi.home", "pi.home.a.example"]],
  ["pi.home", "search a.example\noptions timeout:1 ndots:5", ["pi.home.a.example", "pi.home"]],
  ["pi.home.", "search a.example", ["pi.home."]],
  ["pi", "", ["pi"]],
])("%s is asked for as resolv.conf says", (name, conf, expected) => {
  expect(candidatesFor(name, conf)).toEqual(expected);
});

describe("name servers over real packets", () => {
  const sources = (...servers: string[]) =>
    sourcesAt({ hosts: "/dev/null", resolvConf: "/dev/null", servers });
  const ask = (...servers: string[]) => sources(...servers).servers(host, AbortSignal.timeout(10_000));

  it("the next one is asked where the first is silent", async () => {
    const dead = await nameServer(null);
    const good = await nameServer({ [host]: { a: ["192.0.2.1"] } });
    expect((await ask(dead.server, good.server)).addresses).toEqual(["192.0.2.1"]);
    expect(dead.asked).toContain(host);
  });

  it("a family about which it is silent is not waited for, and one that it has not is known", async () => {
    const good = await nameServer({ [host]: { a: ["192.0.2.1"], aaaa: "silent" } });
    const { addresses, later } = await ask(good.server);
    expect(addresses).toEqual(["192.0.2.1"]);
    good.now({ [host]: { a: ["192.0.2.1"], aaaa: ["::1"] } });
    expect(await later).toEqual(["::1", "192.0.2.1"]);
    const only6 = await nameServer({ [host]: { aaaa: ["::1"] } });
    expect((await ask(only6.server)).addresses).toEqual(["::1"]);
  });

  it("a name that does not exist is told from one about which nobody answered", async () => {
    const good = await nameServer({});
    await expect(ask(good.server)).rejects.toMatchObject({ code: "ENOTFOUND" });
    const dead = await nameServer(null);
    const given = AbortSignal.timeout(100);
    await expect(sources(dead.server).servers(host, given)).rejects.toMatchObject({ code: "EAI_AGAIN" });
  });

  it("a look-up ends with its signal, whatever names are still to be asked for", async () => {
    const dead = await nameServer(null);
    const resolvConf = join(await tempFolder(), "resolv.conf");
    await writeFile(resolvConf, "search a.example b.example");
    const searching = sourcesAt({ hosts: "/dev/null", resolvConf, servers: [dead.server] });
    const found = searching.servers(host, AbortSignal.timeout(100));
    await expect(found).rejects.toMatchObject({ code: "EAI_AGAIN" });
    expect(new Set(dead.asked)).toEqual(new Set([host]));
  });

  it("each is asked by itself, so that the silent one can be named", async () => {
    const dead = await nameServer(null);
    const good = await nameServer({});
    const found = await sources(dead.server, good.server).each(host, AbortSignal.timeout(200));
    expect(found.map(({ server, tookMs }) => [server, tookMs === null])).toEqual([
      [dead.server, true],
      [good.server, false],
    ]);
  });
});
