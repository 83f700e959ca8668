import { describe, expect, it } from "vitest";
import { withLease } from "../../src/cluster/lease.js";
import { PlatformError, type PlatformErrorFacts, type PlatformWriter } from "../../src/greenhouse/ports.js";

const signal = new AbortController().signal;

/** Its connection is open once `stands` resolves. */
function platform(stands = Promise.resolve()) {
  const sent: string[] = [];
  const writer: PlatformWriter = {
    write: async (_code, _address, value, _signal, manner) => {
      await stands;
      const facts = { kind: "withheld", host: "realtime", operation: "set-value", sent: false } as const;
      if (manner?.mayPost?.() === false) throw new PlatformError("withheld", facts);
      sent.push(value);
      return { requestId: null, code: "200" };
    },
  };
  return { writer, sent };
}

describe("a platform with a lease", () => {
  it("asks the lease when the connection stands, and not before", async () => {
    const lease = { isValid: true };
    const ownership = {
      mayPost: () => lease.isValid,
      postBegins: () => () => undefined,
      commandsProblem: () => "another member has it.",
    };
    let connect: () => void = () => undefined;
    const { writer, sent } = platform(new Promise((resolve) => (connect = resolve)));
    const writing = withLease(writer, ownership).write("GH-0001", "101", "10010", signal);
    lease.isValid = false;
    connect();
    await expect(writing).rejects.toThrow("not sent: another member has it.");
    await expect(writing).rejects.toMatchObject({ facts: { kind: "withheld", sent: false } });
    expect(sent).toEqual([]);
  });

  it("sends but a stop while the owner before may still have something under way", async () => {
    const ownership = {
      mayPost: () => true,
      postBegins: () => () => undefined,
      commandsProblem: () => "it waits 9 s.",
    };
    const { writer, sent } = platform();
    const owned = withLease(writer, ownership);
    await expect(owned.write("GH-0001", "101", "10010", signal)).rejects.toThrow("not sent: it waits 9 s.");
    await owned.write("GH-0001", "101", "11000", signal, { isStop: true });
    expect(sent).toEqual(["11000"]);
  });

  it("says that a POST is over once it is answered or never left, and not where its answer is missing", async () => {
    const open = new Set<number>();
    const ownership = {
      mayPost: () => true,
      postBegins: () => {
        const post = open.size;
        open.add(post);
        return () => open.delete(post);
      },
      commandsProblem: () => null,
    };
    const failing = (facts: Pick<PlatformErrorFacts, "kind" | "sent">): PlatformWriter => ({
      write: (_code, _address, _value, _signal, manner) => {
        manner?.mayPost?.();
        const error = new PlatformError("failed", { host: "realtime", operation: "set-value", ...facts });
        return Promise.reject(error);
      },
    });
    const send = (writer: PlatformWriter) =>
      withLease(writer, ownership).write("GH-0001", "101", "1", signal);
    await send(platform().writer);
    await expect(send(failing({ kind: "rejected", sent: true }))).rejects.toThrow("failed");
    await expect(send(failing({ kind: "unreachable", sent: false }))).rejects.toThrow("failed");
    expect(open.size).toBe(0);
    await expect(send(failing({ kind: "timeout", sent: true }))).rejects.toThrow("failed");
    expect(open.size).toBe(1);
  });

  it("sends under a valid lease what nothing else stands against", async () => {
    const ownership = { mayPost: () => true, postBegins: () => () => undefined, commandsProblem: () => null };
    const { writer, sent } = platform();
    const owned = withLease(writer, ownership);
    await owned.write("GH-0001", "101", "10010", signal);
    await owned.write("GH-0001", "101", "10001", signal, { mayPost: () => true });
    const refused = owned.write("GH-0001", "101", "11000", signal, { mayPost: () => false });
    await expect(refused).rejects.toThrow(/^withheld$/);
    expect(sent).toEqual(["10010", "10001"]);
  });
});
