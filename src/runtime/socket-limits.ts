/*
 * Limits for each kind of socket, before its bytes are parsed. Bytes are those of the network; a unit is the smallest
 * thing that costs a turn of its own behind the parser. docs/inside/details.md explains them, and test/floods floods
 * the listening sockets.
 */

export interface Amount {
  readonly bytes: number;
  readonly units: number;
}

export interface Allowance {
  /** The amount allowed at once after a rest. */
  readonly atOnce: Amount;
  readonly perSecond: Amount;
}

export interface Receiving {
  /** For one socket; null: it is only read in turn. */
  readonly ofOne: Allowance | null;
  /** For all sockets of the kind together. */
  readonly ofAll: Allowance | null;
  /** In one turn of the event loop, for all sockets of the kind. */
  readonly perTurn: Amount;
  /** A socket above its allowance for this long is closed; null: it is only read slowly. */
  readonly closedAfterMs: number | null;
}

const kib = 1024;
const mib = 1024 * kib;

/** Units are lines of HTTP: those of a head, or the sizes of chunks in a body. */
const pageHttp: Receiving = {
  // A page with its files makes 20 requests of 25 lines; a proxy brings those of many people on one socket.
  ofOne: { atOnce: { bytes: 256 * kib, units: 3_000 }, perSecond: { bytes: 128 * kib, units: 1_000 } },
  ofAll: { atOnce: { bytes: mib, units: 6_000 }, perSecond: { bytes: 512 * kib, units: 3_000 } },
  perTurn: { bytes: 16 * kib, units: 100 },
  closedAfterMs: null,
};

/** Units are frames. A page sends one for each view that a person opens. */
const pageLive: Receiving = {
  ofOne: { atOnce: { bytes: 16 * kib, units: 40 }, perSecond: { bytes: 4 * kib, units: 10 } },
  ofAll: { atOnce: { bytes: 256 * kib, units: 400 }, perSecond: { bytes: 64 * kib, units: 200 } },
  perTurn: { bytes: 16 * kib, units: 16 },
  closedAfterMs: 3_000,
};

/** Units are MQTT packets, and for MQTT over WebSocket also frames. */
const broker: Receiving = {
  ofOne: { atOnce: { bytes: 2 * mib, units: 250 }, perSecond: { bytes: mib, units: 250 } },
  ofAll: { atOnce: { bytes: 8 * mib, units: 500 }, perSecond: { bytes: 4 * mib, units: 1_000 } },
  perTurn: { bytes: 64 * kib, units: 20 },
  closedAfterMs: null,
};

/**
 * Units are frames of one channel. A platform that sends much at once is read slowly, never closed. A frame of the
 * greatest size takes 100 ms to parse, so their number leaves a stop its turns in between.
 */
const push: Receiving = {
  ofOne: { atOnce: { bytes: 2 * mib, units: 200 }, perSecond: { bytes: 256 * kib, units: 200 } },
  ofAll: { atOnce: { bytes: 4 * mib, units: 500 }, perSecond: { bytes: 512 * kib, units: 500 } },
  perTurn: { bytes: 64 * kib, units: 20 },
  closedAfterMs: null,
};

/** Units are lines of a mail server; once its connection is encrypted, line ends occur by chance in its bytes. */
const mail: Receiving = {
  ofOne: { atOnce: { bytes: 64 * kib, units: 200 }, perSecond: { bytes: 16 * kib, units: 50 } },
  ofAll: null,
  perTurn: { bytes: 16 * kib, units: 50 },
  closedAfterMs: 1_000,
};

/**
 * Limits for the answer of a messenger's service: its lines, in heads and chunked bodies alike, and the bytes of its
 * body. A proxy's answer before it counts too.
 */
const messenger = {
  ofOne: { atOnce: { bytes: 64 * kib, units: 500 }, perSecond: { bytes: 16 * kib, units: 100 } },
  ofAll: null,
  perTurn: { bytes: 16 * kib, units: 100 },
  closedAfterMs: 1_000,
  mostAnswerBytes: 16 * kib,
} as const satisfies Receiving & { readonly mostAnswerBytes: number };

/**
 * Limits for a NATS server, which sends the whole journal at a start. One message and one line are bounded, since each
 * is kept until it is whole: a server that begins a larger one is left.
 */
const nats = {
  ofOne: { atOnce: { bytes: 64 * mib, units: 200_000 }, perSecond: { bytes: 16 * mib, units: 20_000 } },
  ofAll: null,
  perTurn: { bytes: 256 * kib, units: 200 },
  closedAfterMs: null,
  mostMessageBytes: 8 * mib,
  mostLineBytes: 64 * kib,
} as const satisfies Receiving & { readonly mostMessageBytes: number; readonly mostLineBytes: number };

/** The most pieces of one answer of the platform before they are joined, as each costs more than its bytes. */
const answers = { mostPieces: 1_024 };

/**
 * Messages of another broker: `known` for one topic with urgent messages, such as stops, and `urgent` for those beyond
 * it; `others` for each request, and for all topics together that lead nowhere. A command above this would be
 * `overloaded` anyway, as a target takes at most 60 a minute.
 */
const foreign = {
  known: { atOnce: 2_000, perSecond: 50 },
  urgent: { atOnce: 100, perSecond: 20 },
  others: { atOnce: 300, perSecond: 50 },
};

/** Datagrams of multicast DNS; with one too many the socket is closed for a while. */
const mdns = { mostBytes: 1_500, perSecond: 100, restMs: 3_000 };

export const receiving = {
  pageHttp,
  pageLive,
  broker,
  push,
  mail,
  messenger,
  nats,
  answers,
  foreign,
  mdns,
} as const;
