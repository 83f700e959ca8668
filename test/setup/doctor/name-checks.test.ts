import { describe, expect, it } from "vitest";
import { silentLog } from "../../../src/runtime/log.js";
import { NameError, Names, type NameSources } from "../../../src/runtime/host-names.js";
import { nameVerdict } from "../../../src/setup/doctor/network-checks.js";
import { VirtualClock } from "../../support/virtual-clock.js";

const host = "platform.example";

/** What doctor says where the system answers like this, so long after it was asked. */
async function verdict(
  afterMs: number,
  answer: readonly string[] | NameError,
  silent: readonly string[] = [],
) {
  const clock = new VirtualClock();
  const sources: NameSources = {
    hosts: () => "",
    servers: async () => {
      await clock.wait(afterMs);
      if (answer instanceof NameError) throw answer;
      return { addresses: answer };
    },
    system: () => Promise.reject(new NameError("ENOTFOUND", host)),
    each: () =>
      Promise.resolve(
        ["192.0.2.52", "192.0.2.53"].map((server) => ({
          server,
          tookMs: silent.includes(server) ? null : 1,
        })),
      ),
  };
  const context = { names: new Names(clock, sources), ports: { clock, random: () => 0, log: silentLog } };
  const found = nameVerdict(host, "platform.business_url", context, new AbortController().signal);
  await clock.advance(afterMs);
  return found;
}

describe("doctor on a host's name", () => {
  it.each([
    [20, "ok", `${host} has the address 192.0.2.1, looked up in 20 ms`],
    [999, "ok", `${host} has the address 192.0.2.1, looked up in 999 ms`],
    [1_000, "warning", `${host} has the address 192.0.2.1, looked up in 1000 ms, which is slow`],
  ])("says how long the look-up took, and warns from a second: %i ms", async (ms, status, summary) => {
    expect(await verdict(ms, ["192.0.2.1"])).toMatchObject({ status, summary });
  });

  it("names a name server that is silent, also where another one answers", async () => {
    expect(await verdict(0, ["192.0.2.1"], ["192.0.2.52"])).toEqual({
      status: "warning",
      summary: `${host} has the address 192.0.2.1, looked up in 0 ms, but the name server 192.0.2.52 does not answer`,
      remedy: "correct the name servers of this computer (/etc/resolv.conf, or where its network is set up)",
    });
  });

  it.each([
    ["ENOTFOUND", [], "the host name does not exist", "check platform.business_url and this machine's DNS"],
    [
      "EAI_AGAIN",
      ["192.0.2.52", "192.0.2.53"],
      "the host name could not be looked up (no DNS answer); the name servers 192.0.2.52, 192.0.2.53 do not answer",
      "correct the name servers of this computer (/etc/resolv.conf, or where its network is set up)",
    ],
  ] as const)(
    "without an address says why, and blames nobody else: %s",
    async (code, silent, what, remedy) => {
      expect(await verdict(0, new NameError(code, host), silent)).toEqual({
        status: "failed",
        summary: `${host}: ${what}`,
        remedy,
      });
    },
  );
});
