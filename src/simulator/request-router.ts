import type { IncomingMessage, ServerResponse } from "node:http";
import type { PlatformHost } from "../greenhouse/platform-error.js";
import type { Clock } from "../runtime/clock.js";
import { parseJson } from "./call.js";
import { controlView, performControl, type ControlReply, type ServerControl } from "./control-requests.js";
import { answer, perform } from "./http-exchange.js";
import { bodyOf, targetOf, type Target } from "./http-request.js";
import type { ListenerParts } from "./listener.js";
import { hostOf } from "./operations.js";
import { respond } from "./platform-model.js";
import type { PlatformState } from "./platform-state.js";
import type { PushServer } from "./push-server.js";

/** What one port serves; `both` decides by the operation. */
export interface PortRole {
  readonly platform: PlatformHost | "both" | null;
  readonly controls: boolean;
}

export interface RouterParts {
  readonly state: PlatformState;
  readonly clock: Clock;
  readonly push: PushServer;
  readonly control: ServerControl;
  /** Told about anything that went wrong in the simulator itself. */
  readonly failed: (error: unknown) => void;
}

const controlPrefix = "/_simulator/";

/** What a port of this role does with requests and upgrades. */
export function routerFor(role: PortRole, parts: RouterParts): ListenerParts {
  return {
    request: (request, response) => {
      const target = targetOf(request.url ?? "/");
      const served =
        role.controls && target.path.startsWith(controlPrefix)
          ? serveControl(request, response, target, parts)
          : servePlatform(request, response, target, role, parts);
      served.catch((error: unknown) => {
        parts.failed(error);
        response.destroy();
      });
    },
    upgrade: (request, socket, head) => {
      parts.state.advance(parts.clock.now());
      if (role.platform === "both" || role.platform === "realtime") parts.push.upgrade(request, socket, head);
      else socket.destroy();
    },
  };
}

async function servePlatform(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: Target,
  role: PortRole,
  { state, clock }: RouterParts,
): Promise<void> {
  const host = role.platform === "both" ? hostOf(path) : role.platform;
  if (host === null) {
    reply(response, { status: 404, body: { message: `only ${controlPrefix} is served here` } });
    return;
  }
  const method = request.method ?? "GET";
  const body = method === "GET" ? null : await bodyOf(request);
  if (method !== "GET" && body === null) {
    response.destroy();
    return;
  }
  const { authorization } = request.headers;
  const headers = { authorization, "content-type": request.headers["content-type"] };
  await perform(respond(state, { host, method, path, query, headers, body }, clock.now()), response, clock);
}

async function serveControl(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: Target,
  { control }: RouterParts,
): Promise<void> {
  const view = path.slice(controlPrefix.length);
  if (request.method === "POST" && view === "control") {
    reply(response, await performControl(control, parseJson((await bodyOf(request)) ?? "")));
    return;
  }
  const found = request.method === "GET" ? controlView(control, view, query) : null;
  const message = `no such control: ${request.method ?? ""} ${path}`;
  reply(response, found ?? { status: 404, body: { ok: false, message } });
}

function reply(response: ServerResponse, { status, body }: ControlReply): void {
  const headers = { "content-type": "application/json;charset=UTF-8" };
  answer({ status, headers, body: JSON.stringify(body), delayMs: 0, cut: null }, response);
}
