import { describe, expect, it } from "vitest";
import type { JournalFacts, OwnerFacts, ServerFacts } from "../../src/cluster/inspect.js";
import { tooOld } from "../../src/cluster/nats.js";
import { journalVerdict, ownerVerdict, serversVerdict } from "../../src/cluster/doctor.js";

const here: ServerFacts = { server: "nats://a:4222", version: "2.10.1", problem: null };
const away: ServerFacts = { server: "nats://b:4222", version: null, problem: "connection refused" };

const journal: JournalFacts = {
  stream: "greenhouses_north",
  problem: null,
  records: 12,
  bytes: 1_048_576,
  replicas: 3,
  current: 3,
  hasLeader: true,
  dropsOldest: false,
  mostBytes: null,
  takenBytes: 1_048_576,
};

const owner: OwnerFacts = { owner: "a-1", leaseAgeMs: 1_300, members: ["a-1", "b-1"] };

describe("what doctor finds of a cluster", () => {
  it.each<[string, readonly ServerFacts[], string, string]>([
    [
      "all servers",
      [here, { ...here, server: "nats://c" }],
      "ok",
      "2 NATS servers answer; nats-server 2.10.1",
    ],
    [
      "one that is away",
      [here, away],
      "warning",
      "1 of 2 NATS servers can be used: nats://b:4222: connection",
    ],
    ["none", [away], "failed", "none of the NATS servers can be used"],
    [
      "one that is too old",
      [{ ...here, problem: tooOld("2.8.4") }],
      "failed",
      "it is nats-server 2.8.4, and 2.9",
    ],
  ])("%s", (_, servers, status, said) => {
    const verdict = serversVerdict(servers);
    expect(verdict.status).toBe(status);
    expect(String(verdict.summary)).toContain(said);
  });

  it.each<[string, Partial<JournalFacts> | null, string, string]>([
    ["is not there yet", null, "skipped", "no member of the cluster has run the account yet"],
    ["is complete", {}, "ok", "12 entries, 1.0 MiB, complete on 3 servers"],
    ["is another account's", { problem: "of another account" }, "failed", "of another account"],
    ["has no leader", { hasLeader: false, current: 0 }, "failed", "too few of the 3 NATS servers"],
    ["loses its oldest entries", { dropsOldest: true }, "failed", "drops its oldest entries"],
    ["is nearly full", { mostBytes: 1_200_000 }, "warning", "1.0 of the 1.1 MiB"],
    [
      "is kept on too few",
      { replicas: 1, current: 1 },
      "warning",
      "kept on 1 servers, and cluster.replicas is 3",
    ],
    ["lacks a copy", { current: 2 }, "warning", "2 of 3 copies of the journal are complete"],
  ])("a journal that %s", (_, change, status, said) => {
    const verdict = journalVerdict(change && { ...journal, ...change }, 3);
    expect(verdict.status).toBe(status);
    expect(String(verdict.summary)).toContain(said);
  });

  it.each<[string, OwnerFacts | null, string, string]>([
    ["no member ever", null, "skipped", "no member of the cluster has started yet"],
    [
      "one, and another stands by",
      owner,
      "ok",
      "a-1 runs the account, which was confirmed 1.3 s ago; beside it there are b-1",
    ],
    ["one alone", { ...owner, members: ["a-1"] }, "warning", "no other member stands by"],
    [
      "nobody",
      { ...owner, owner: null, leaseAgeMs: null },
      "warning",
      "no member of the cluster runs the account",
    ],
  ])("an account that is run by %s", (_, facts, status, said) => {
    const verdict = ownerVerdict(facts);
    expect(verdict.status).toBe(status);
    expect(String(verdict.summary)).toContain(said);
  });

  it.each([
    ["2.9.0", true],
    ["2.15.1", true],
    ["3.0.0", true],
    ["2.8.9", false],
    ["1.4.1", false],
  ])("nats-server %s can be used: %s", (version, canBe) => {
    expect(tooOld(version) === null).toBe(canBe);
  });
});
