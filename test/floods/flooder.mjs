// node flooder.mjs KIND PORT SECONDS [SOCKETS]
// Floods one socket of this computer for so long, as fast as it is taken, and comes back where it is closed. Ends by itself and prints
// what it got rid of.
import dgram from "node:dgram";
import net from "node:net";
import tls from "node:tls";

const [kind = "", portText = "0", secondsText = "0", socketsText = "2"] = process.argv.slice(2);
const port = Number(portText);
const seconds = Number(secondsText);
const sockets = Number(socketsText);
const endsAt = performance.now() + seconds * 1_000;
const isOver = () => performance.now() >= endsAt;
const tally = { bytes: 0, connections: 0, closed: 0 };
const host = "127.0.0.1";

/** A masked frame of a client, with a mask of zeros. */
function frame(opcode, payload, isFinal = true) {
  const bytes = Buffer.from(payload);
  const first = (isFinal ? 0x80 : 0) | opcode;
  const head =
    bytes.length < 126
      ? [first, 0x80 | bytes.length]
      : [first, 0x80 | 126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), bytes]);
}

const repeated = (piece, bytes = 65_536) =>
  Buffer.concat(Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece));

function upgrade(path, protocol) {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
}

const text = (value) => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)]);
function lengthOf(bytes) {
  const digits = [];
  let left = bytes;
  do {
    const digit = left % 128;
    left = Math.floor(left / 128);
    digits.push(left > 0 ? digit | 128 : digit);
  } while (left > 0);
  return Buffer.from(digits);
}
const packet = (first, body) => Buffer.concat([Buffer.from([first]), lengthOf(body.length), body]);
const connectPacket = () =>
  packet(
    0x10,
    Buffer.concat([
      text("MQTT"),
      Buffer.from([4, 2, 0, 60]),
      text(`flood${Math.trunc(Math.random() * 1e9)}`),
    ]),
  );
const publishPacket = (topic, payload) => packet(0x30, Buffer.concat([text(topic), Buffer.from(payload)]));
const subscribePacket = (...filters) =>
  packet(
    0x82,
    Buffer.concat([Buffer.from([0, 1]), ...filters.flatMap((filter) => [text(filter), Buffer.from([0])])]),
  );
const unsubscribePacket = (...filters) =>
  packet(0xa2, Buffer.concat([Buffer.from([0, 1]), ...filters.map(text)]));
/** What a host of Sparkplug writes: one metric of a device, a text. */
const metric = (name, value) => {
  const field = (tag, bytes) => Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
  const fields = [field(0x0a, Buffer.from(name)), field(0x7a, Buffer.from(value))];
  return field(0x12, Buffer.concat(fields));
};
const sparkplugTopic = (type, device = "") => `spBv1.0/greenhouses/${type}/greenhouse2mqtt${device}`;
const manyFilters = Array.from({ length: 1_000 }, (_, n) => `f/${n}/+`);

/** What a client of TLS says first, for which a server has to sign. */
async function clientHello() {
  const server = net.createServer().listen(0, host);
  await new Promise((resolve) => server.once("listening", resolve));
  const client = tls.connect({ port: server.address().port, host, rejectUnauthorized: false });
  client.on("error", () => undefined);
  const socket = await new Promise((resolve) => server.once("connection", resolve));
  const said = await new Promise((resolve) => socket.once("data", resolve));
  client.destroy();
  socket.destroy();
  server.close();
  return said;
}

/** Begins handshakes, and goes away as soon as the other side has done its part. */
async function handshakes() {
  const hello = await clientHello();
  const one = () =>
    new Promise((resolve) => {
      const socket = net.connect({ port, host });
      tally.connections += 1;
      socket.on("error", () => undefined).on("close", resolve);
      socket.once("data", () => socket.destroy());
      setTimeout(() => socket.destroy(), Math.max(0, endsAt - performance.now()));
      socket.write(hello);
    });
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      while (!isOver()) await one();
    }),
  );
}

/** Opens a connection, says `first`, waits for an answer where there is to be one, then writes `piece` again and again. */
function stream({ first = null, second = null, piece }) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host, noDelay: true });
    tally.connections += 1;
    const write = () => {
      while (!isOver() && !socket.destroyed && !socket.writableEnded) {
        tally.bytes += piece.length;
        if (!socket.write(piece)) return void socket.once("drain", write);
      }
      if (isOver()) socket.destroy();
    };
    socket.on("error", ({ code }) => {
      tally[code] = (tally[code] ?? 0) + 1;
    });
    socket.on("close", () => {
      tally.closed += 1;
      resolve();
    });
    const begin = () => {
      if (second !== null) socket.write(second());
      write();
    };
    socket.once("connect", () => {
      if (first === null) begin();
      else socket.write(first());
    });
    if (first !== null) socket.once("data", begin);
    socket.on("data", () => undefined);
    setTimeout(() => socket.destroy(), Math.max(0, endsAt - performance.now()));
  });
}

const underWay = 100;

/**
 * Writes into the bucket of a cluster, which every member watches, as fast as a NATS server keeps it: no more is under way than
 * that, since the queue of the server would else be what is measured.
 */
function natsWriter(keyOf, value) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host, noDelay: true });
    tally.connections += 1;
    let written = 0;
    let rest = "";
    const write = (count) => {
      for (let n = 0; n < count; n += 1, written += 1) {
        const text = `PUB $KV.test.${keyOf(written)} kept ${value.length}\r\n${value}\r\n`;
        tally.bytes += text.length;
        socket.write(text);
      }
    };
    socket.once("data", () => {
      socket.write('CONNECT {"verbose":false,"lang":"flooder","version":"0"}\r\nSUB kept 1\r\n');
      write(underWay);
    });
    socket.on("data", (bytes) => {
      const heard = rest + bytes.toString("latin1");
      if (heard.includes("PING\r\n")) socket.write("PONG\r\n");
      const pieces = heard.split("MSG kept");
      rest = pieces.at(-1).slice(-7);
      if (!isOver()) write(pieces.length - 1);
    });
    socket.on("error", () => undefined).on("close", resolve);
    setTimeout(() => socket.destroy(), Math.max(0, endsAt - performance.now()));
  });
}

const natsWriters = (keyOf, value) =>
  Promise.all(Array.from({ length: sockets }, (_, at) => natsWriter((n) => keyOf(n, at), value)));

async function streams(parts) {
  await Promise.all(
    Array.from({ length: sockets }, async () => {
      while (!isOver()) {
        await stream(parts);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }),
  );
}

/** A query whose every name is a pointer into a chain of pointers: with each question the whole chain is followed. */
function pointerQuery(bytes) {
  const all = Buffer.alloc(bytes);
  // The chain hides in the data of a first record, an unknown type, which is passed over.
  const chain = Math.min(8_000, Math.floor((bytes - 64) / 4)) * 2;
  all.writeUInt16BE(0, 4);
  all.writeUInt16BE(0, 6);
  let at = 12;
  all[at++] = 0;
  all.writeUInt16BE(65_280, at);
  all.writeUInt16BE(1, at + 2);
  all.writeUInt32BE(0, at + 4);
  all.writeUInt16BE(chain, at + 8);
  at += 10;
  let before = 12;
  for (const end = at + chain; at < end; at += 2) {
    if (before <= 0x3fff) all.writeUInt16BE(0xc000 | before, at);
    before = at <= 0x3fff ? at : before;
  }
  let records = 1;
  // Each further record is a pointer to the end of the chain, and twelve bytes.
  while (at + 12 <= bytes) {
    all.writeUInt16BE(0xc000 | before, at);
    all.writeUInt16BE(65_280, at + 2);
    all.writeUInt16BE(1, at + 4);
    at += 12;
    records += 1;
  }
  all.writeUInt16BE(records, 6);
  return all.subarray(0, at);
}

const everyMs = (ms, work) =>
  new Promise((resolve) => {
    const timer = setInterval(() => {
      if (isOver()) {
        clearInterval(timer);
        resolve();
      } else work();
    }, ms);
  });

async function datagrams(piece, perTurn, ms) {
  const socket = dgram.createSocket("udp4");
  await new Promise((resolve) => socket.bind(0, resolve));
  socket.setMulticastLoopback(true);
  socket.on("error", () => undefined);
  socket.setMulticastInterface(host);
  await everyMs(ms, () => {
    for (let n = 0; n < perTurn; n += 1)
      for (const to of ["224.0.0.251", host]) {
        tally.bytes += piece.length;
        tally.connections += 1;
        socket.send(piece, 5353, to, (error) => {
          if (error) tally[error.code] = (tally[error.code] ?? 0) + 1;
        });
      }
  });
  socket.close();
}

const subscribe = frame(1, '{"subscribe":[]}');
const chunks = (path) =>
  Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ),
  ]);
const kinds = {
  "page-subscriptions": () => streams({ first: () => upgrade("/api/live"), piece: repeated(subscribe) }),
  "page-empty-frames": () => streams({ first: () => upgrade("/api/live"), piece: repeated(frame(1, "")) }),
  "page-pings": () => streams({ first: () => upgrade("/api/live"), piece: repeated(frame(9, "")) }),
  "page-pieces": () =>
    streams({
      first: () => upgrade("/api/live"),
      second: () => frame(1, "{", false),
      piece: repeated(frame(0, "", false)),
    }),
  "page-requests": () =>
    streams({ piece: repeated(Buffer.from(`GET /api/overview HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)) }),
  "page-health": () =>
    streams({ piece: repeated(Buffer.from(`GET /healthz HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)) }),
  "page-chunks": () =>
    streams({ first: null, second: () => chunks("/api/login"), piece: repeated(Buffer.from("1\r\n \r\n")) }),
  "page-headers": () =>
    streams({
      second: () => Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}:${port}\r\n`),
      piece: repeated(Buffer.from("a:\r\n")),
    }),
  "page-logins": () => {
    const body = JSON.stringify({ username: "anna", password: "a wrong password" });
    const request = `POST /api/login HTTP/1.1\r\nHost: ${host}:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
    return Promise.all(
      Array.from({ length: sockets }, async () => {
        while (!isOver())
          await new Promise((resolve) => {
            const socket = net.connect({ port, host });
            tally.connections += 1;
            socket
              .on("error", () => undefined)
              .on("close", resolve)
              .on("data", () => undefined);
            socket.end(request);
          });
      }),
    );
  },
  "page-connections": () => streams({ piece: Buffer.from("G") }),
  "broker-pings": () => streams({ first: connectPacket, piece: repeated(Buffer.from([0xc0, 0])) }),
  "broker-publishes": () => streams({ first: connectPacket, piece: repeated(publishPacket("x", "")) }),
  "broker-requests": () =>
    streams({ first: connectPacket, piece: repeated(publishPacket("greenhouse/bridge/request/x", "{}")) }),
  "broker-sets": () =>
    streams({
      first: connectPacket,
      piece: repeated(publishPacket("greenhouse/nobody/actuator/a/set", "on")),
    }),
  "broker-subscriptions": () => streams({ first: connectPacket, piece: repeated(subscribePacket("a")) }),
  "broker-everything": () => streams({ first: connectPacket, piece: repeated(subscribePacket("#")) }),
  "broker-filters": () =>
    streams({
      first: connectPacket,
      piece: Buffer.concat([subscribePacket(...manyFilters), unsubscribePacket(...manyFilters)]),
    }),
  "broker-handshakes": handshakes,
  "broker-garbage": () =>
    streams({ first: connectPacket, piece: repeated(Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff])) }),
  "broker-web-pings": () =>
    streams({
      first: () => upgrade("/mqtt", "mqtt"),
      second: () => frame(2, connectPacket()),
      piece: repeated(frame(9, "")),
    }),
  "broker-web-frames": () =>
    streams({
      first: () => upgrade("/mqtt", "mqtt"),
      second: () => frame(2, connectPacket()),
      piece: repeated(frame(2, "")),
    }),
  "broker-web-bytes": () =>
    streams({
      first: () => upgrade("/mqtt", "mqtt"),
      second: () => frame(2, connectPacket()),
      piece: repeated(Buffer.concat([frame(2, [0xc0]), frame(2, [0])])),
    }),
  "sparkplug-commands": () =>
    streams({
      first: connectPacket,
      piece: repeated(
        publishPacket(sparkplugTopic("DCMD", "/gh-0001"), metric("actuator/motor/command", "open")),
      ),
    }),
  "sparkplug-garbage": () =>
    streams({
      first: connectPacket,
      piece: repeated(publishPacket(sparkplugTopic("NCMD"), Buffer.alloc(1_000, 0x12))),
    }),
  "nats-members": () => natsWriters((n, at) => `member.flood-${at}-${n}`, '{"unfit":[]}'),
  "nats-owners": () => natsWriters((n, at) => `owner.flood-${at}-${n}`, '{"member":"flood","run":"1"}'),
  "nats-one": () => natsWriters((_, at) => `member.flood-${at}`, '{"unfit":[]}'),
  "nats-large": () =>
    natsWriters((_, at) => `member.flood-${at}`, JSON.stringify({ unfit: Array(50_000).fill("a") })),
  "weather-values": () =>
    streams({ first: connectPacket, piece: repeated(publishPacket("weather/wind", '{"speed":3}')) }),
  "status-words": () =>
    streams({ first: connectPacket, piece: repeated(publishPacket("homeassistant/status", "online")) }),
  "self-tests": () =>
    streams({ first: connectPacket, piece: repeated(publishPacket("greenhouse/bridge/self_test", "{}")) }),
  "mdns-large": () => datagrams(pointerQuery(65_000), 1, 250),
  "mdns-standard": () => datagrams(pointerQuery(1_400), 20, 5),
  "mdns-small": () => datagrams(Buffer.alloc(12), 50, 5),
};
const run = kinds[kind];
if (run === undefined) {
  console.error(`there is no flood ${kind}; there are ${Object.keys(kinds).join(", ")}`);
  process.exit(2);
}
await run();
console.log(JSON.stringify(tally));
process.exit(0);
