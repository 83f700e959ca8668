import { WebSocket } from "ws";
import { holdsWithin } from "../../support/changes.js";

/* What a browser does with Home Assistant: sign up, connect it to a broker, listen to states, perform actions. */

export interface State {
  readonly entity_id: string;
  readonly state: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A state that was shown, when, ms of a steady clock. */
interface Shown extends State {
  readonly atMs: number;
}

interface RegistryEntry {
  readonly entity_id: string;
  readonly unique_id: string;
  readonly platform: string;
  readonly disabled_by: string | null;
  readonly device_id: string | null;
}

interface Device {
  readonly id: string;
  readonly name: string | null;
  readonly area_id: string | null;
  readonly identifiers: readonly (readonly [string, string])[];
  readonly config_entries: readonly string[];
}

export interface Client {
  /** A message of the WebSocket interface and its result. */
  call(type: string, fields?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** `cover.open_cover` with its target. */
  act(service: string, entity: string, data?: Readonly<Record<string, unknown>>): Promise<void>;
  /** What a template of its own shows now. */
  render(template: string): Promise<string>;
  registry(): Promise<readonly RegistryEntry[]>;
  devices(): Promise<readonly Device[]>;
  /** The newest state of an entity. */
  state(entity: string): State | undefined;
  states(): readonly State[];
  /** Everything an entity showed since a moment of `performance.now()`. */
  shown(entity: string, sinceMs: number): readonly Shown[];
  until(what: string, holds: () => boolean, timeoutMs?: number): Promise<void>;
  /** With which this connection signed in. */
  readonly token: string;
  close(): void;
}

export interface Account {
  readonly url: string;
  readonly refreshToken: string;
}

const patientMs = 60_000;

/** Answers the first questions of a new Home Assistant and connects it to a broker. */
export async function setUp(url: string, mqttPort: number): Promise<Account> {
  const id = `${url}/`;
  const user = { name: "T", username: "t", password: "test-password-1", language: "en" };
  const { auth_code: code } = await posted(`${url}/api/onboarding/users`, { client_id: id, ...user });
  const form = { grant_type: "authorization_code", code: String(code), client_id: id };
  const token = await posted(`${url}/auth/token`, new URLSearchParams(form));
  const access = String(token["access_token"]);
  const steps = { core_config: {}, analytics: {}, integration: { client_id: id, redirect_uri: id } };
  // What else it would set up now (weather, radio) is not installed, which some releases answer with an error.
  for (const [step, body] of Object.entries(steps))
    await posted(`${url}/api/onboarding/${step}`, body, access).catch(() => undefined);
  const flows = `${url}/api/config/config_entries/flow`;
  const { flow_id: flow } = await posted(flows, { handler: "mqtt" }, access);
  const broker = { broker: "127.0.0.1", port: mqttPort };
  const others = { other_settings: { set_ca_cert: "off", set_client_cert: false } };
  const answer = `${flows}/${String(flow)}`;
  // Older releases have no group of other settings.
  const made = await posted(answer, { ...broker, ...others }, access).catch(() =>
    posted(answer, broker, access),
  );
  if (made["type"] !== "create_entry") throw new Error(`no MQTT integration: ${JSON.stringify(made)}`);
  return { url, refreshToken: String(token["refresh_token"]) };
}

async function posted(url: string, body: object, token?: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      ...(body instanceof URLSearchParams ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: body instanceof URLSearchParams ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

type Message = Readonly<Record<string, unknown>>;

/** Without `watchesStates` none is kept: Home Assistant ends a connection that falls thousands of changes behind. */
export async function connect({ url, refreshToken }: Account, watchesStates = true): Promise<Client> {
  const form = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: `${url}/` };
  const { access_token: token } = await posted(`${url}/auth/token`, new URLSearchParams(form));
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/websocket`, { maxPayload: 1e9 });
  const open = new Map<number, (message: Message) => void>();
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("message", (data: Buffer) => {
      for (const message of [JSON.parse(data.toString()) as Message | readonly Message[]].flat()) {
        if (message["type"] === "auth_required")
          socket.send(JSON.stringify({ type: "auth", access_token: token }));
        else if (message["type"] === "auth_ok") resolve();
        else if (message["type"] === "auth_invalid") reject(new Error("not signed in"));
        else open.get(Number(message["id"]))?.(message);
      }
    });
  });
  let last = 0;
  const call: Client["call"] = (type, fields = {}) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      open.set(id, ({ success, result, error }) => {
        open.delete(id);
        if (success === true) resolve(result);
        else reject(new Error(`${type}: ${JSON.stringify(error)}`));
      });
      socket.send(JSON.stringify({ id, type, ...fields }));
    });
  const { shown, newest, changed } = watchesStates
    ? await statesOf(call, (handler) => open.set(last, handler))
    : { shown: [], newest: new Map<string, State>(), changed: new Set<() => void>() };
  return {
    call,
    act: async (service, entity, data = {}) => {
      const [domain, name] = service.split(".");
      await call("call_service", {
        domain,
        service: name,
        target: { entity_id: entity },
        service_data: data,
      });
    },
    render: (template) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        open.set(id, ({ type, success, error, event }) => {
          if (type !== "event" && success === true) return;
          open.delete(id);
          const { result } = (event ?? {}) as { readonly result?: unknown };
          if (typeof result === "string") resolve(result);
          else reject(new Error(`not rendered: ${JSON.stringify(error ?? event)}`));
        });
        socket.send(JSON.stringify({ id, type: "render_template", template, report_errors: true }));
      }),
    registry: async () => (await call("config/entity_registry/list")) as readonly RegistryEntry[],
    devices: async () => (await call("config/device_registry/list")) as readonly Device[],
    state: (entity) => newest.get(entity),
    states: () => [...newest.values()],
    shown: (entity, sinceMs) => shown.filter(({ entity_id: id, atMs }) => id === entity && atMs >= sinceMs),
    until: (what, holds, timeoutMs = patientMs) => holdsWithin(timeoutMs, holds, changed, what),
    close: () => socket.close(),
    token: String(token),
  };
}

/** Keeps every state that is shown from now on, and the newest of each entity. */
async function statesOf(call: Client["call"], answer: (handler: (message: Message) => void) => void) {
  const shown: Shown[] = [];
  const newest = new Map<string, State>();
  const changed = new Set<() => void>();
  const subscribed = new Promise<void>((resolve) => {
    void call("subscribe_events", { event_type: "state_changed" });
    answer((message) => {
      if (message["type"] === "result") resolve();
      if (message["type"] !== "event") return;
      const { data } = message["event"] as {
        readonly data: { readonly entity_id: string; readonly new_state: State | null };
      };
      if (data.new_state === null) newest.delete(data.entity_id);
      else {
        newest.set(data.entity_id, data.new_state);
        shown.push({ ...data.new_state, atMs: performance.now() });
      }
      for (const look of [...changed]) look();
    });
  });
  await subscribed;
  for (const state of (await call("get_states")) as readonly State[])
    if (!newest.has(state.entity_id)) newest.set(state.entity_id, state);
  return { shown, newest, changed };
}
