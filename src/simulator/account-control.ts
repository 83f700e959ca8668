import type { PlatformHost } from "../greenhouse/platform-error.js";
import { typeNames } from "./account.js";
import type { Controls } from "./control.js";
import type { PlatformState } from "./platform-state.js";

const hostsOf = (host: PlatformHost | "both"): readonly PlatformHost[] =>
  host === "both" ? ["business", "realtime"] : [host];

/** Who is in the account. */
export function accountControl(
  state: PlatformState,
): Controls<"addController" | "removeController" | "renameController" | "emptyList" | "codes"> {
  const known = (code: string) => {
    const device = state.devices.get(code);
    if (!device) throw new Error(`the simulated account has no device ${JSON.stringify(code)}`);
    return device;
  };
  return {
    addController: ({ code, name, type }) => {
      const [station] = state.account.stations;
      if (state.devices.has(code) || !station) throw new Error(`the simulated account already has ${code}`);
      if (type !== undefined && !typeNames.has(type))
        throw new Error(`unknown device type ${JSON.stringify(type)}`);
      const id = 500_000 + state.devices.size;
      state.replaceDevice({
        code,
        id,
        name: name ?? code,
        type: type ?? "C001",
        station,
        isController: true,
      });
    },
    removeController: (code) => {
      state.removeDevice(known(code).code);
    },
    renameController: (code, name) => {
      state.replaceDevice({ ...known(code), name });
    },
    emptyList: (how) => {
      state.listing = how === "null" ? "null" : how ? "empty" : "full";
    },
    codes: () => [...state.devices.keys()],
  };
}

/** What is wrong with the platform, and how its time passes. */
export function hostControl(
  state: PlatformState,
  now: () => number,
): Controls<
  "fault" | "clearFaults" | "hostDown" | "hostUp" | "expireTokens" | "acceptToken" | "push" | "skip"
> {
  return {
    fault: (spec) => {
      state.faults.arm(spec, now());
      state.advance(now());
    },
    clearFaults: () => {
      state.faults.clear();
      state.outages.clear();
      state.setPush("normal", Infinity);
    },
    hostDown: (host, how, forMs) => {
      for (const one of hostsOf(host)) state.outages.set(one, { until: now() + (forMs ?? Infinity), how });
    },
    hostUp: (host) => {
      for (const one of hostsOf(host)) state.outages.delete(one);
    },
    expireTokens: () => {
      state.tokens.expireAll();
    },
    acceptToken: (token) => {
      state.tokens.accept(token);
    },
    push: (mode) => {
      state.setPush(mode, Infinity);
    },
    skip: (ms) => {
      state.advance(now());
      state.timeline.skip(state.now, ms);
    },
  };
}
