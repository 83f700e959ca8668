import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type FakeHost, ok, type Reply, startFakeHost } from "../platform/support/hosts.js";
import { secrets } from "./secrets.js";

/* A platform whose answers repeat what was sent to it, in every place an answer has. */

type Answer = (echo: string, response: ServerResponse) => Reply | null;

const json =
  (status: number, body: (echo: string) => unknown): Answer =>
  (echo) => ({ status, body: body(echo) });
const plain =
  (type: string, body: (echo: string) => string, status = 200): Answer =>
  (echo) => ({ status, headers: { "content-type": type }, body: body(echo) });

export const answers = {
  "401 with a body": json(401, (echo) => ({ code: 401, error: echo, message: `bad credential ${echo}` })),
  "403 in plain text": plain("text/plain", (echo) => `forbidden: ${echo}`, 403),
  "403 with an object": json(403, (echo) => ({ code: 403, message: { code: "X", message: echo } })),
  "500 with a trace": json(500, (echo) => ({
    ...{ error: { stack: `Error: ${echo}\n at x` }, message: echo, request_id: echo, requestId: echo },
  })),
  "200 with code 500": json(200, (echo) => ({ code: 500, message: echo, requestId: echo, data: echo })),
  "200 with a code of its own": json(200, (echo) => ({ code: echo, message: "x".repeat(290) + echo })),
  "200 with code 401": json(200, (echo) => ({ code: 401, msg: echo, data: null })),
  "200 with names": json(200, (echo) => {
    const device = { code: "GH-0001", deviceCode: "GH-0001", id: 1, name: echo, deviceName: echo };
    const place = { stationId: 1, stationName: echo, brand: echo, isConnect: 1, isOnline: true };
    const item = {
      key: "t1",
      value: 21.5,
      unit: echo,
      channel: 1,
      factorName: echo,
      type: 12,
      deviceType: 12,
    };
    // `get device` prints what it is asked for as it came; of the list that is polled nothing may come out.
    const hls = echo.includes("control/mqtt") ? secrets.streamAddress : "";
    return { code: 200, data: [{ ...device, ...place, ...item, hls }] };
  }),
  "an unreadable shape": json(200, (echo) => ({ code: 200, data: [{ [echo]: echo }] })),
  "a scalar": json(200, (echo) => ({ code: 200, data: echo })),
  "an HTML page": plain("text/html", (echo) => `<html><body>${echo}</body></html>`),
  "broken JSON": plain("application/json", (echo) => `{"code":200,"data":"${echo}`),
  "a redirect": (echo) => ({
    status: 302,
    headers: { location: `http://127.0.0.1:9/?token=${encodeURIComponent(echo)}` },
    body: echo,
  }),
  "odd headers": (echo) => {
    const value = encodeURIComponent(echo);
    const headers = { "retry-after": value, "content-encoding": value, "x-echo": value };
    return { status: 503, headers, body: echo };
  },
  "a reset": (echo, response) => {
    response.writeHead(200, { "content-length": "9999" }).write(echo);
    setImmediate(() => (response.socket as Socket).resetAndDestroy());
    return null;
  },
} satisfies Readonly<Record<string, Answer>>;

export type AnswerName = keyof typeof answers;

/** `signsIn`: a POST that looks like a sign-in gets a token first. */
export async function hostilePlatform(name: AnswerName, signsIn: boolean): Promise<FakeHost> {
  const answer: Answer = answers[name];
  const host = await startFakeHost(({ headers, target, body }, response) => {
    if (!signsIn || !body.includes(secrets.accountPassword))
      return answer([headers.authorization ?? "", target, body].join(" ").trim(), response);
    return ok({ token: secrets.signedInToken, refresh_token: secrets.refreshToken, expiresIn: 7200 });
  });
  host.server.on("upgrade", ({ headers, url = "" }, socket) => {
    const echo = `${headers.authorization ?? ""} ${url}`;
    const told = encodeURIComponent(echo);
    socket.end(`HTTP/1.1 401 ${told}\r\nX-Echo: ${told}\r\n\r\n${echo}`);
  });
  return host;
}
