import type { SimulatorControl } from "./control.js";
import { outages, parseFault, pushModes } from "./faults.js";

/** A field of a control request that is not what it should be; the message says what it should be. */
export class WrongField extends Error {}

/** The fields of one control request, read with the error a caller can act on. */
export class RequestFields {
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(json: Readonly<Record<string, unknown>>) {
    this.#fields = new Map(Object.entries(json));
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value === "number") return String(value);
    if (typeof value !== "string" || value === "") throw new WrongField(`"${name}" must be a text`);
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.#fields.has(name) ? this.text(name) : undefined;
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name);
    if (typeof value !== "boolean") throw new WrongField(`"${name}" must be true or false`);
    return value;
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#fields.get(name);
    if (value !== undefined && typeof value !== "number") throw new WrongField(`"${name}" must be a number`);
    return value;
  }

  raw(name: string): unknown {
    return this.#fields.get(name);
  }

  scalar(name: string): string | number | boolean | null {
    const value = this.#fields.get(name);
    if (
      value === null ||
      typeof value === "string" ||
      typeof value === "number" ||
      typeof value === "boolean"
    )
      return value;
    throw new WrongField(`"${name}" must be a text, number, boolean or null`);
  }

  oneOf<Word extends string>(name: string, words: readonly Word[], usual?: Word): Word {
    const value = this.#fields.get(name);
    const found = words.find((word) => word === value) ?? (value === undefined ? usual : undefined);
    if (found === undefined) throw new WrongField(`"${name}" must be one of ${words.join(", ")}`);
    return found;
  }
}

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
