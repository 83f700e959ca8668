import { encodeProperties } from "../conformance/packets.js";
import { packet } from "../fuzz/packets.js";
import { answersOnce } from "../support/first-words.js";

/* A broker that refuses everybody and repeats their CONNECT, password included, wherever MQTT has room for a text. */

const reason = (code: number, echo: string) => [code, ...encodeProperties(5, [["reason", echo]])];

export const refusals = {
  "a refused CONNACK with a reason": (echo: string) => packet(0x20, [0, ...reason(0x87, echo)]),
  "a banned CONNACK": (echo: string) => packet(0x20, [0, ...reason(0x8a, echo)]),
  "an HTTP answer": (echo: string) => `HTTP/1.1 400 Bad Request\r\nX-Echo: ${echo}\r\n\r\n${echo}`,
  "a DISCONNECT with a reason": (echo: string) => [
    ...packet(0x20, [0, 0, 0]),
    ...packet(0xe0, reason(0x87, echo)),
  ],
  "the same bytes": (echo: string) => echo,
} as const;

export type RefusalName = keyof typeof refusals;

export const hostileBroker = (name: RefusalName) =>
  answersOnce((connect) => {
    // What can be printed of a CONNECT: client id, user name, password.
    const echo = connect
      .toString("latin1")
      .replace(/[^\x20-\x7e]+/g, " ")
      .slice(-200);
    return Buffer.from(refusals[name](echo));
  });
