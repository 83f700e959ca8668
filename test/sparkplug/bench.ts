import anyAscii from "any-ascii";
import { onTestFinished } from "vitest";
import type { CommandRequest } from "../../src/commands/command.js";
import type { PlatformState } from "../../src/greenhouse/model.js";
import { type Clock, systemClock } from "../../src/runtime/clock.js";
import { seededRandom } from "../../src/simulator/faults.js";
import { noGaps } from "../../src/runtime/gaps.js";
import { EdgeNode } from "../../src/sparkplug/edge-node.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { actuator, clientStatus, controllerSettings, item, record } from "../support/builders.js";
import { registersRead, sensorsRead } from "../support/folding.js";

/* An edge node alone, with a store that the test fills in the place of the platform. */

interface BenchOptions {
  readonly controllers?: number;
  readonly sensors?: number;
  readonly primaryHost?: string;
  readonly version?: 4 | 5;
  readonly memory?: { text: string | null };
  readonly clock?: Clock;
}

const codeOf = (number: number) => `GH-${String(number).padStart(4, "0")}`;

export function edgeNodeAt(url: string, options: BenchOptions = {}) {
  const {
    controllers = 1,
    sensors = 2,
    primaryHost,
    version = 5,
    memory = { text: null },
    clock = systemClock,
  } = options;
  const codes = Array.from({ length: controllers }, (_, at) => codeOf(at + 1));
  const settings = controllerSettings({ actuators: [actuator()] });
  const store = new GreenhouseStore(
    {
      mirror: "all",
      controllers: new Map(codes.map((code) => [code, { ...settings, code }])),
      staleAfterMs: 900_000,
    },
    clock,
    anyAscii,
  );
  store.setReachable(true);
  const items = (value: number) =>
    Array.from({ length: sensors }, (_, at) =>
      item({
        name: `t${at}`,
        channel: String(at),
        value: value + at,
        raw: value + at,
        measuredAt: Date.now(),
      }),
    );
  /** Every sensor of a controller shows another value. */
  const sweep = (code: string, value: number) => store.dispatch(code, sensorsRead(items(value), Date.now()));
  const connection = (code: string, state: "online" | "offline") =>
    store.dispatch(code, { type: "connection", status: clientStatus(state) });
  for (const code of codes) {
    store.admit(code);
    store.dispatch(code, { type: "listed", record: record({ code, name: code }), availability: "online" });
    sweep(code, 20);
    store.dispatch(code, registersRead({ "101": "10001" }, { readAt: Date.now() }));
  }
  const { log, lines } = capturedLog();
  const submitted: CommandRequest[] = [];
  const alarms: string[] = [];
  const state: { platform: PlatformState } = { platform: "online" };
  const core = {
    ...{ version: "test", clock, gaps: noGaps, random: seededRandom(1), log },
    mirror: {
      store,
      inventory: { isKnown: true },
      watch: {
        get state() {
          return state.platform;
        },
      },
    },
    commands: {
      commander: {
        submit: (request: CommandRequest) => {
          submitted.push(request);
          return { id: request.givenId ?? "", isTaken: true };
        },
      },
      onSurplus: () => undefined,
      limits: {
        alarms: {
          list: [],
          set: (type: string, { controller }: { controller: string | null }, message: string | null) =>
            alarms.push(`${type} ${controller ?? ""} ${message ?? "cleared"}`),
        },
      },
    },
    file: () => ({
      read: () => Promise.resolve(memory.text),
      write: (text: string) => Promise.resolve(void (memory.text = text)),
    }),
  };
  const node = new EdgeNode(
    core,
    { enabled: true, group: "greenhouses", node: "greenhouse2mqtt", primary_host: primaryHost },
    {
      url,
      clientId: "greenhouse2mqtt-sparkplug",
      protocolVersion: version,
      username: undefined,
      password: undefined,
      tls: {},
    },
  );
  const end = new AbortController();
  const running = node.run(end.signal);
  const stop = async () => {
    end.abort();
    await running;
  };
  onTestFinished(stop);
  const platformIs = (platform: PlatformState) => {
    state.platform = platform;
    node.platformState();
  };
  return { store, node, codes, sweep, connection, lines, submitted, alarms, platformIs, stop, memory };
}
