import type { SimulatorControl } from "./control.js";
import { parseFault } from "./fault-file.js";
import { outages, pushModes } from "./faults.js";
import { RequestFields, WrongField } from "./request-fields.js";

export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

/** The controls a server needs; bringing a host up or down may have to wait for its port. */
export type ServerControl = Omit<SimulatorControl, "hostDown" | "hostUp" | "clearFaults"> & {
  hostDown(...args: Parameters<SimulatorControl["hostDown"]>): Promise<void>;
  hostUp(...args: Parameters<SimulatorControl["hostUp"]>): Promise<void>;
  clearFaults(): Promise<void>;
};

type Action = (control: ServerControl, fields: RequestFields) => void | Promise<void>;

const hosts = ["both", "business", "realtime"] as const;

const actions = new Map<string, Action>([
  [
    "set_online",
    (control, at) => {
      control.setOnline(at.text("controller"), at.flag("online"));
    },
  ],
  [
    "freeze_sensors",
    (control, at) => {
      control.freezeSensors(at.text("controller"));
    },
  ],
  [
    "unfreeze_sensors",
    (control, at) => {
      control.unfreezeSensors(at.text("controller"));
    },
  ],
  [
    "set_sensor",
    (control, at) => {
      control.setSensor(at.text("controller"), at.text("sensor"), at.scalar("value"));
    },
  ],
  [
    "clear_sensor",
    (control, at) => {
      control.clearSensor(at.text("controller"), at.text("sensor"));
    },
  ],
  [
    "add_controller",
    (control, at) => {
      control.addController({
        code: at.text("controller"),
        name: at.optionalText("name"),
        type: at.optionalText("type"),
      });
    },
  ],
  [
    "remove_controller",
    (control, at) => {
      control.removeController(at.text("controller"));
    },
  ],
  [
    "rename_controller",
    (control, at) => {
      control.renameController(at.text("controller"), at.text("name"));
    },
  ],
  [
    "empty_list",
    (control, at) => {
      control.emptyList(at.raw("list") === "null" ? "null" : at.flag("list"));
    },
  ],
  [
    "move_by_hand",
    (control, at) => {
      control.moveByHand(at.text("controller"), at.text("address"), at.text("value"));
    },
  ],
  [
    "storm",
    (control, at) => {
      control.storm(at.flag("on"));
    },
  ],
  [
    "rain",
    (control, at) => {
      control.rain(at.flag("on"));
    },
  ],
  ["fault", armFault],
  ["clear_faults", (control) => control.clearFaults()],
  [
    "host_down",
    (control, at) =>
      control.hostDown(
        at.oneOf("host", hosts, "both"),
        at.oneOf("how", outages, "refuse"),
        at.optionalNumber("for_ms"),
      ),
  ],
  ["host_up", (control, at) => control.hostUp(at.oneOf("host", hosts, "both"))],
  [
    "expire_tokens",
    (control) => {
      control.expireTokens();
    },
  ],
  [
    "accept_token",
    (control, at) => {
      control.acceptToken(at.text("token"));
    },
  ],
  [
    "push",
    (control, at) => {
      control.push(at.oneOf("mode", pushModes));
    },
  ],
  [
    "skip",
    (control, at) => {
      control.skip(at.optionalNumber("ms") ?? 0);
    },
  ],
]);

/** Words a control request may carry in `do`. */
export const controlWords: readonly string[] = [...actions.keys()];

function armFault(control: ServerControl, fields: RequestFields): void {
  const { faults, errors } = parseFault(fields.raw("fault"), "fault");
  if (errors.length > 0) throw new WrongField(errors.join("; "));
  for (const spec of faults) control.fault(spec);
}

/** Performs `{"do": "...", ...}`; a mistake in it is answered with 400 and what was expected. */
export async function performControl(control: ServerControl, json: unknown): Promise<ControlReply> {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return wrong("expected a JSON object");
  const fields = new RequestFields(Object.fromEntries(Object.entries(json)));
  const action = actions.get(String(fields.raw("do")));
  if (!action) return wrong(`"do" must be one of ${controlWords.join(", ")}`);
  try {
    await action(control, fields);
    return { status: 200, body: { ok: true } };
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

const wrong = (message: string): ControlReply => ({ status: 400, body: { ok: false, message } });

/** Answers `GET /_simulator/<view>`; null for a view there is not. */
export function controlView(
  control: ServerControl,
  view: string,
  query: Readonly<Record<string, string>>,
): ControlReply | null {
  const since = Number(query.since ?? 0);
  switch (view) {
    case "posts":
      return { status: 200, body: control.posts().filter((post) => post.at >= since) };
    case "requests":
      return { status: 200, body: control.requests() };
    case "controllers":
      return { status: 200, body: control.codes() };
    case "state":
      return stateView(control, query);
    default:
      return null;
  }
}

function stateView(control: ServerControl, query: Readonly<Record<string, string>>): ControlReply {
  try {
    return { status: 200, body: control.trueState(query.controller ?? "", query.address ?? "") };
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}
