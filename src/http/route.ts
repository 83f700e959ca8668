import type { IncomingMessage } from "node:http";
import { unescape } from "node:querystring";
import { z } from "zod";
import { expecting } from "../settings/values.js";
import type { Role } from "../page/protocol.js";
import type { Visitor } from "./access.js";
import { type Answer, badRequest, inputOf, loginRequired, mostBytesOfAdmin } from "./answer.js";
import type { LiveViews } from "./live.js";
import type { Port } from "./port.js";
import type { PageService } from "./service.js";
import type { Sessions } from "./sessions.js";

/** A request that was let in. */
export interface Asked {
  readonly port: Port;
  readonly request: IncomingMessage;
  /** When its head was read, monotonic ms. */
  readonly readAt: number;
  readonly visitor: Visitor;
  /** What follows the route's path. */
  readonly id: string;
  /** Aborts when the client no longer waits for the answer. */
  readonly gone: AbortSignal;
  readonly sessions: Sessions;
  /** Closes the live views of visitors that are no longer let in. */
  readonly review: () => void;
}

/** Which method and role a path takes, and what answers; a GET may be a HEAD too. */
export interface Route<Given extends Asked = Asked> {
  readonly method: "GET" | "POST";
  readonly role: Role | null;
  readonly answer: (asked: Given) => Answer | Promise<Answer>;
  /** The route for the other method, where a path takes both. */
  readonly other?: Route<Given>;
}

/** Routes by path; a path that ends with a slash takes an id behind it. */
export type Routes<Given extends Asked = Asked> = Readonly<Record<string, Route<Given>>>;

/** What is served at a port: one bridge, or the accounts of a fleet. */
export interface Served {
  /** The route of a path, and the id behind it; an answer where this visitor is refused; null for an unknown path. */
  route(path: string, visitor: Visitor): { readonly route: Route; readonly id: string } | Answer | null;
  /** Whether views can be followed at this path. */
  isLive(path: string): boolean;
  live(path: string, visitor: Visitor): LiveViews | Answer;
  /** Closes the live views of visitors that are no longer let in. */
  review(): void;
  /** Keeps what is shown up to date until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** A route whose input, the query of a GET or the JSON of a POST, has to fit the schema. */
export function routeTo<About extends Asked, Given>(
  method: Route["method"],
  role: Route["role"],
  schema: z.ZodType<Given>,
  run: (given: Given, asked: About) => Answer | Promise<Answer>,
): Route<About> {
  const answer = async (asked: About) => {
    const input = await inputOf(asked.request, role === "admin" ? mostBytesOfAdmin : undefined);
    if (!("given" in input)) return input;
    const read = schema.safeParse(input.given);
    if (read.success) return run(read.data, asked);
    const said = read.error.issues.map(({ path, message }) => [...path, message].join(": "));
    return badRequest(said.join("; ").slice(0, 500).replace(/[^?]$/, "$&."));
  };
  return { method, role, answer };
}

/** An object schema with these fields and no others; each field has its own error text. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape).join(", ") || "nothing";
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? `${issue.keys.join(", ")}: unknown, expected ${known}` : undefined,
  });
}

export const nothing = fields({});
export const text = z.string({ error: expecting("a text") });

/** Whether this is a health probe, which is answered however much else is asked. */
export const isProbe = (path: string): boolean => ["/livez", "/healthz", "/readyz"].includes(path);

const plainText = (body: string, version = ""): Answer => ({
  status: 200,
  body: `${body}\n`,
  headers: { "content-type": `text/plain; ${version}charset=utf-8` },
});

/** A page for Prometheus. Where `http.token` is set, visitors without a login need it. */
export const metricsRoute = <About extends Asked>(page: (asked: About) => Promise<string>): Route<About> => ({
  method: "GET",
  role: "viewer",
  answer: async (asked) =>
    asked.visitor.via === null && asked.port.listener().token !== undefined
      ? loginRequired
      : plainText((await page(asked)).trimEnd(), "version=0.0.4; "),
});

/** Health probes and metrics. A problem is a sentence; null where there is none. */
export function watchedRoutes<About extends Asked>(watched: {
  readonly state: (asked: About) => "ok" | "standby";
  readonly healthProblem: (asked: About) => string | null;
  readonly readyProblem: (asked: About) => string | null;
  readonly metrics: (asked: About) => Promise<string>;
}): Routes<About> {
  const probe = (problemOf: (asked: About) => string | null): Route<About> => ({
    method: "GET",
    role: null,
    answer: (asked) => {
      const problem = problemOf(asked);
      return problem === null ? plainText(watched.state(asked)) : { ...plainText(problem), status: 503 };
    },
  });
  return {
    "/livez": probe(() => null),
    "/healthz": probe(watched.healthProblem),
    "/readyz": probe(watched.readyProblem),
    "/metrics": metricsRoute(watched.metrics),
  };
}

/** The route of a path, and the id behind it. */
export function routeAt<Given extends Asked>(
  routes: ReadonlyMap<string, Route<Given>>,
  path: string,
): { readonly route: Route<Given>; readonly id: string } | null {
  const own = routes.get(path);
  if (own !== undefined) return { route: own, id: "" };
  const [, place = path, name = ""] = /^(\/api\/\w+\/)(.+)$/.exec(path) ?? [];
  const route = routes.get(place);
  return route === undefined ? null : { route, id: unescape(name) };
}

export interface AskedOfBridge extends Asked {
  readonly service: PageService;
}

/** Binds a route to this bridge. */
export const aboutBridge = (
  { method, role, answer, other }: Route<AskedOfBridge>,
  service: PageService,
): Route => ({
  method,
  role,
  answer: (asked) => answer({ ...asked, service }),
  ...(other !== undefined && { other: aboutBridge(other, service) }),
});
