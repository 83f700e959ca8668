import { reachable } from "../broker/settings.js";
import type { Configuration } from "../config/schema.js";
import { holderOf, type LockHolder } from "../journal/lock.js";
import { isPasswordHash } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import { type Document, documentOf } from "./running-bridge.js";
import { CommandFailure } from "./context.js";

/* The bridge that runs with a configuration, as a program of this computer meets it at its HTTP port: the way that is left
   where the broker is away. */

/** One request, with the document of its answer. */
export type AskHttp = (
  path: string,
  body?: Document,
) => Promise<{ readonly status: number; readonly document: Document }>;

/** Why the bridge that works in the data directory was not asked over HTTP. */
export class NotOverHttp {
  /** Null where no bridge works in the data directory, as far as this process can see. */
  readonly holder: LockHolder | null;
  readonly reason: string;

  constructor(holder: LockHolder | null, reason: string) {
    this.holder = holder;
    this.reason = reason;
  }
}

const longestMs = 30_000;

/**
 * Asks at the HTTP port of the bridge that works in the data directory, and of no other one. `acts`: it changes
 * something, which takes an operator.
 */
export async function overHttp<Answer>(
  configuration: Configuration,
  acts: boolean,
  work: (ask: AskHttp) => Promise<Answer>,
  stop: AbortSignal,
): Promise<Answer | NotOverHttp> {
  const holder = await holderOf(configuration.data_dir);
  const { http } = configuration;
  if (holder === null) return new NotOverHttp(null, "");
  if (http === false) return new NotOverHttp(holder, "http is off");
  const address = `http://${reachable(http.host)}:${http.port}`;
  const login = loginFor(http, acts);
  if (typeof login === "string") return new NotOverHttp(holder, login);
  const client = httpClient(address, stop);
  try {
    const refused = await reach(client, login, holder, address).catch((error: unknown) => {
      if (stop.aborted) throw new CommandFailure("stopped; nothing was asked");
      return `${address} does not answer (${causeOf(error)})`;
    });
    if (refused !== null) return new NotOverHttp(holder, refused);
    return await work(client.ask).catch((error: unknown) => {
      if (error instanceof CommandFailure) throw error;
      const why = stop.aborted ? "stopped" : `${address} does not answer any more (${causeOf(error)})`;
      throw new CommandFailure(`${why}; it was asked, and what became of it is not known`);
    });
  } finally {
    await client.logout();
  }
}

/** Why the bridge behind the address is not to be asked; null where it is. */
async function reach(
  client: ReturnType<typeof httpClient>,
  login: Login,
  holder: LockHolder,
  address: string,
): Promise<string | null> {
  const refused = await client.login(login);
  if (refused !== null) return refused;
  const { document } = await client.ask("/api/health");
  return document["instance"] === holder.boot ? null : `what answers at ${address} is another program`;
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

type Http = Exclude<Configuration["http"], false>;
type Login = Readonly<{ token?: string; username?: string; password?: string }>;

/** The login that the configuration holds as text, or why there is none. */
function loginFor({ users, host, token }: Http, acts: boolean): Login | string {
  const plain = users.filter(({ password }) => !isPasswordHash(password));
  const user = plain.find(({ role }) => role === "operator") ?? (acts ? undefined : plain[0]);
  if (user !== undefined) return { username: user.username, password: user.password };
  if (acts)
    return users.some(({ role }) => role === "operator")
      ? "the passwords of the operators under http.users are hashes, so only the page takes them"
      : "http.users names no operator";
  if (token !== undefined) return { token };
  return users.length === 0 && isLoopback(host)
    ? {}
    : "the configuration holds no login for the page as text (http.token, http.users)";
}

function httpClient(address: string, stop: AbortSignal) {
  let headers: Record<string, string> = {};
  const ask = async (path: string, body?: Document) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(longestMs)]);
    const sent = body && { method: "POST", body: JSON.stringify(body) };
    const asked = { ...sent, headers: { ...headers, ...(sent && { "content-type": "application/json" }) } };
    const answer = await fetch(`${address}${path}`, { ...asked, signal, redirect: "error" });
    return { ...answerOf(answer), document: documentOf(await answer.text()) ?? {} };
  };
  return {
    ask: async (path: string, body?: Document) => {
      const { status, document } = await ask(path, body);
      return { status, document };
    },
    /** Why it was refused; null where it was not. */
    login: async ({ token, username, password }: Login): Promise<string | null> => {
      if (token !== undefined) headers = { authorization: `Bearer ${token}` };
      if (username === undefined) return null;
      const { status, cookie, document } = await ask("/api/login", { username, password });
      if (cookie !== null) headers = { cookie };
      return status === 204
        ? null
        : `the page refuses the login of ${username}: ${String(document["message"])}`;
    },
    logout: async (): Promise<void> => {
      if ("cookie" in headers) await ask("/api/logout", {}).catch(() => undefined);
    },
  };
}

const answerOf = ({ status, headers }: Response) => ({
  status,
  cookie: headers.getSetCookie()[0]?.split(";")[0] ?? null,
});
