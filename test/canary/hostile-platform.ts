import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { secrets } from "./secrets.js";
import { portFor } from "../support/free-port.js";

/* A platform whose answers repeat what was sent to it, in every place an answer has. */

type Answer = (response: ServerResponse, echo: string) => unknown;

const json =
  (status: number, body: (echo: string) => unknown): Answer =>
  (response, echo) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body(echo)));
const plain =
  (type: string, body: (echo: string) => string, status = 200): Answer =>
  (response, echo) =>
    response.writeHead(status, { "content-type": type }).end(body(echo));

export const answers = {
  "401 with a body": json(401, (echo) => ({ code: 401, message: `bad credential ${echo}` })),
  "403 in plain text": plain("text/plain", (echo) => `forbidden: ${echo}`, 403),
  "500 with a trace": json(500, (echo) => ({
    ...{ error: { stack: `Error: ${echo}\n at x` }, message: echo, request_id: echo },
  })),
  "200 with code 500": json(200, (echo) => ({ code: 500, message: echo, request_id: echo, data: echo })),
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
    return { code: 200, data: [{ ...device, ...place, ...item }] };
  }),
  "an HTML page": plain("text/html", (echo) => `<html><body>${echo}</body></html>`),
  "broken JSON": plain("application/json", (echo) => `{"code":200,"data":"${echo}`),
  "a redirect": (response, echo) =>
    response.writeHead(302, { location: `http://127.0.0.1:9/?token=${encodeURIComponent(echo)}` }).end(echo),
  "odd headers": (response, echo) => {
    const value = encodeURIComponent(echo);
    response.writeHead(503, { "retry-after": value, "content-encoding": value, "x-echo": value }).end(echo);
  },
  "a reset": (response, echo) => {
    response.writeHead(200, { "content-length": "9999" }).write(echo);
    setImmediate(() => (response.socket as Socket).resetAndDestroy());
  },
} satisfies Readonly<Record<string, Answer>>;

export type AnswerName = keyof typeof answers;

export interface HostilePlatform {
  readonly url: string;
  readonly asked: number;
  close(): Promise<void>;
}

/** `signsIn`: a POST that looks like a sign-in gets a token first. */
export async function hostilePlatform(name: AnswerName, signsIn: boolean): Promise<HostilePlatform> {
  let asked = 0;
  const answer: Answer = answers[name];
  const server = createServer((request, response) => {
    void reply(request, response).catch(() => response.destroy());
  });
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    asked += 1;
    const body = await text(request);
    if (signsIn && body.includes(secrets.accountPassword)) {
      const data = { token: secrets.signedInToken, refresh_token: secrets.refreshToken, expiresIn: 7200 };
      json(200, () => ({ code: 200, data }))(response, "");
      return;
    }
    answer(response, [request.headers.authorization ?? "", request.url ?? "", body].join(" ").trim());
  };
  server.on("upgrade", (request: IncomingMessage, socket: Socket) => {
    const echo = `${request.headers.authorization ?? ""} ${request.url ?? ""}`;
    socket.end(
      `HTTP/1.1 401 ${encodeURIComponent(echo)}\r\nX-Echo: ${encodeURIComponent(echo)}\r\n\r\n${echo}`,
    );
  });
  const port = await portFor(server);
  return {
    url: `http://127.0.0.1:${port}`,
    get asked() {
      return asked;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
