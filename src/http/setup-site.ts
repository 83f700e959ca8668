import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Faults } from "./faults.js";
import { isOfThisComputer, judge, type Listener } from "./access.js";
import {
  type Answer,
  badRequest,
  bodyOf,
  failure,
  headerSaid,
  inputOf,
  json,
  notFound,
  send,
} from "./answer.js";
import { OneTimeCode } from "./first-operator.js";
import { pageFiles } from "./server.js";
import { mostBackupBytes } from "./settings.js";
import { isLoopback } from "../runtime/sockets.js";

/*
 * The page before there is a configuration, for `init --web`. It listens on this computer alone unless another address
 * is given, and does nothing without the code.
 */

type Step = (input: unknown) => Promise<unknown>;

interface SetupSite {
  readonly host: string;
  readonly code: OneTimeCode;
  /** By name. A step gets the answers so far, and rejects with a sentence for the person. */
  readonly steps: Readonly<Record<string, Step>>;
  /** Makes a bridge from the bytes of a backup; rejects with a sentence for the person. */
  readonly restore: (bytes: Uint8Array, password: string | null, language: string) => Promise<unknown>;
  readonly faults: Pick<Faults, "note">;
  readonly onListening: (port: number) => void;
}

const wrongCode = failure(401, "wrong_code", "This is not the code that `init --web` printed.");
const spent = failure(
  429,
  "code_spent",
  "Too many wrong codes. Start `init --web` again: it prints another code.",
);
const elsewhere = failure(403, "not_here", "This is served to browsers of its own computer alone.");
const nobody = { find: () => null };
const asked = z.looseObject({ code: z.string() });

/** The code that opens the page, and the catcher of its errors. */
export const setupOf = (log: Logger, clock: Clock) => ({
  code: new OneTimeCode(),
  faults: new Faults(log, clock),
});

/** Serves the steps until `signal` aborts, at the port, or at any other if it is taken. */
export async function serveSetup(port: number, site: SetupSite, signal: AbortSignal): Promise<void> {
  const listener: Listener = {
    host: site.host,
    port,
    allowed_hosts: [],
    users: [],
    overview: [],
    mdns: false,
    settings: false,
    past_readings: false,
    ingress: { enabled: false, role: "viewer", address: "" },
  };
  const files = pageFiles();
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 600_000 });
  server.on("request", (request, response) => {
    void answerTo(request, listener, files, site)
      .catch((error: unknown) => {
        site.faults.note(error);
        return failure(500, "fault", "This could not be answered, which is a defect.");
      })
      .then((answer) => send(response, answer))
      .catch(() => response.destroy());
  });
  for (const wanted of [port, 0]) {
    try {
      await once(server.listen(wanted, listener.host), "listening");
      break;
    } catch (error) {
      if (wanted === 0) throw error;
    }
  }
  site.onListening((server.address() as AddressInfo).port);
  if (!signal.aborted) await once(signal, "abort");
  server.closeAllConnections();
  await once(server.close(), "close");
}

/** Restores a backup: the body is the file, and a header holds the rest as URL-encoded JSON. */
async function restoreBackup(
  request: IncomingMessage,
  code: OneTimeCode,
  restore: SetupSite["restore"],
): Promise<Answer> {
  const said = headersSaid.safeParse(headerSaid(request.headers["x-setup"]));
  if (!said.success || code.isSpent() || !code.fits(said.data.code))
    return code.isSpent() ? spent : wrongCode;
  const body = await bodyOf(request, mostBackupBytes);
  if (!Buffer.isBuffer(body)) return body;
  const { password, language } = said.data;
  return restore(body, password === "" ? null : password, language).then(
    (done) => json(done ?? {}),
    (error: unknown) => badRequest(error instanceof Error ? error.message : String(error)),
  );
}

const headersSaid = z.object({
  code: z.string(),
  password: z.string().max(1_000).default(""),
  language: z.string().default("en"),
});

async function answerTo(
  request: IncomingMessage,
  listener: Listener,
  files: ReturnType<typeof pageFiles>,
  { code, steps, restore }: SetupSite,
): Promise<Answer> {
  const visitor = judge(request, listener, nobody);
  if ("status" in visitor) return visitor;
  if (isLoopback(listener.host) && !isOfThisComputer(request)) return elsewhere;
  const { url = "/", method = "" } = request;
  const [path = "/"] = url.split("?", 1);
  if (method === "GET" || method === "HEAD") {
    if (path === "/api/session")
      return json({ user: null, role: null, via: null, login: false, setup: true });
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    return file?.({ request, visitor }) ?? notFound("page here");
  }
  if (path === "/api/setup/restore" && method === "POST") return restoreBackup(request, code, restore);
  const [, name = ""] = /^\/api\/setup\/(\w+)$/.exec(path) ?? [];
  const step = Object.hasOwn(steps, name) ? steps[name] : undefined;
  if (method !== "POST" || step === undefined) return notFound("step", name);
  const input = await inputOf(request);
  if (!("given" in input)) return input;
  const given = asked.safeParse(input.given);
  if (!given.success || code.isSpent()) return code.isSpent() ? spent : wrongCode;
  if (!code.fits(given.data.code)) return code.isSpent() ? spent : wrongCode;
  try {
    return json((await step(given.data)) ?? {});
  } catch (error) {
    return badRequest(error instanceof Error ? error.message : String(error));
  }
}
