import fc from "fast-check";

/* Requests that nobody should send, as they stand on the wire: one character a byte. */

const byte = fc.integer({ min: 0, max: 255 }).map((one) => String.fromCharCode(one));
const bytes = fc.string({ unit: byte });

const headerNames = [
  "Host",
  "Origin",
  "Cookie",
  "Authorization",
  "Upgrade",
  "Connection",
  "HTTP2-Settings",
  "Expect",
  "Content-Length",
  "Transfer-Encoding",
  "X-Ingress-Path",
  "Accept",
  "Accept-Encoding",
  "Content-Type",
  "Sec-WebSocket-Key",
  "Sec-WebSocket-Version",
  "Sec-WebSocket-Extensions",
  "Sec-WebSocket-Protocol",
];

const usualValues = [
  "localhost",
  "::1",
  "[::1]:8099",
  "127.0.0.1",
  "websocket",
  "h2c",
  "Upgrade",
  "keep-alive, Upgrade",
  "13",
  "dGhlIHNhbXBsZSBub25jZQ==",
  "chunked",
  "100-continue",
  "7",
  "-1",
  "application/json",
  "text/csv",
  "permessage-deflate",
  "Bearer x",
  "greenhouse2mqtt_8099=x",
  "null",
  "gzip",
  "a, b;q=2",
  "%",
];

const oddPaths = [
  "/",
  "/api/live",
  "/healthz",
  "/metrics",
  "/api/session",
  "/api/overview",
  "/api/journal?limit=1",
  "/api/controllers/__proto__",
  "/api/controllers/%",
  "/api/commands/%E0%A4%A",
  "/api/trends/%00",
  "/api/requests/constructor",
  "/api/login",
  "/api/doctor",
  "//",
  "http://[::1",
  "*",
  "/api/live/%",
];

const path = fc.oneof(
  fc.constantFrom(...oddPaths),
  bytes.map((text) => `/${text}`),
);
const header = fc.tuple(
  fc.constantFrom(...headerNames),
  fc.oneof({ arbitrary: fc.constantFrom(...usualValues), weight: 3 }, bytes),
);
const method = fc.constantFrom("GET", "HEAD", "POST", "CONNECT", "OPTIONS", "PRI", "PUT", "x");

const request = fc
  .tuple(method, path, fc.array(header, { maxLength: 8 }), fc.oneof(bytes, fc.constant("{}")))
  .map(([verb, target, headers, body]) => {
    const lines = headers.map(([key, value]) => `${key}: ${value}\r\n`).join("");
    return `${verb} ${target} HTTP/1.1\r\n${lines}\r\n${body}`;
  });

/** A request with any header bytes, or no request at all. */
export const anyRequest: fc.Arbitrary<string> = fc.oneof({ arbitrary: request, weight: 9 }, bytes);
