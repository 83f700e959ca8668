import type { z } from "zod";
import type { PageAddress, Session } from "../page/protocol.js";
import { type Answer, failure, json, notFound } from "./answer.js";
import { pageAddressFor, qrPictureOf } from "./page-address.js";
import { unreadableUsers } from "./first-operator.js";
import { may } from "./roles.js";
import { type Asked, fields, nothing, type Routes, routeTo, text } from "./route.js";

/* Who uses the page, and how people log in and out. */

/** What a browser learns about its own session. */
export function sessionOf({ visitor: { user, role, via }, port, request }: Asked): Session {
  const isOffered = user === null && port.firstOperator.isOffered(request);
  const hasSettings = may(role, "admin") && port.listener().settings;
  const known: Session = { user, role, via, login: role === null, ...(hasSettings && { settings: true }) };
  return isOffered ? { ...known, first_operator: true } : known;
}

const newOperator = fields({ code: text, username: text, password: text });

/** Makes the first operator, logs him in, and ends the views of visitors without a login. */
async function makeFirstOperator(
  given: z.output<typeof newOperator>,
  { port, request, sessions, review }: Asked,
): Promise<Answer> {
  const { firstOperator, status } = port;
  const address = request.socket.remoteAddress ?? "";
  const refused = await firstOperator.make(request, given);
  if (refused?.status === 401) status.refusedLogin("password", address);
  if (refused !== null) return refused;
  const username = given.username.trim();
  const answer = await sessions.login(username, given.password, {
    remote: address,
    cookie: "",
    isSecure: false,
  });
  status.loggedIn(username, address);
  review();
  return answer;
}

const closed = failure(503, "users_unreadable", `Nobody can log in: ${String(unreadableUsers)}.`);

async function logIn(
  given: { readonly username: string; readonly password: string },
  { port: { status, log, listener }, sessions, request }: Asked,
): Promise<Answer> {
  const { username: user, password } = given;
  const { socket, headers } = request;
  if (listener().isClosed === true) return closed;
  const address = socket.remoteAddress ?? "";
  const isSecure = /^https:/i.test(headers.origin ?? "");
  const answer = await sessions.login(user, password, {
    remote: address,
    cookie: headers.cookie ?? "",
    isSecure,
  });
  // The log leaves the name out, since people type passwords into the wrong field.
  if (answer.status === 401) status.refusedLogin("password", address);
  if (answer.status === 204) {
    log.info({ user, address }, "logged in to the page");
    status.loggedIn(user, address);
  }
  return answer;
}

/** The page's URL and QR code for other computers, at the port of the request. */
async function pageAddressOf({ port, request }: Asked): Promise<Answer> {
  const listener = port.listener();
  const at = request.socket.localPort ?? listener.port;
  const found = pageAddressFor(listener, at);
  return found === null
    ? notFound("page here")
    : json({ page: found.url, qr: await qrPictureOf(listener, at) } satisfies PageAddress);
}

export const loginRoutes: Routes = {
  "/api/entrance": routeTo("GET", "viewer", nothing, (_, asked) => pageAddressOf(asked)),
  "/api/session": routeTo("GET", null, nothing, (_, asked) => json(sessionOf(asked))),
  "/api/first_operator": routeTo("POST", null, newOperator, makeFirstOperator),
  "/api/login": routeTo("POST", null, fields({ username: text, password: text }), logIn),
  "/api/logout": routeTo("POST", null, nothing, (_, { sessions, visitor, review }) => {
    const answer = sessions.logout(visitor);
    // Views end at once, whether or not the disk has the logout.
    review();
    return answer;
  }),
};
