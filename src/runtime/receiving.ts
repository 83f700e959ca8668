/*
 * What each socket may bring, before its bytes are taken apart: the one table of it. Bytes are as the network brings them; a unit is the
 * smallest thing that costs a turn of its own behind the parser. docs/inside/details.md says it in words, and test/floods
 * floods the sockets that listen.
 */

export interface Amount {
  readonly bytes: number;
  readonly units: number;
}

export interface Allowance {
  /** From a rest on. */
  readonly atOnce: Amount;
  readonly perSecond: Amount;
}

export interface Receiving {
  /** Of one socket; without one it is only read in turn. */
  readonly ofOne: Allowance | null;
  /** Of all sockets of the kind together. */
  readonly ofAll: Allowance | null;
  /** In one turn of the event loop, of all sockets of the kind. */
  readonly perTurn: Amount;
  /** One that comes faster for so long is closed; null: it is only read as slowly. */
  readonly closedAfterMs: number | null;
}

const kib = 1024;
const mib = 1024 * kib;

/** A line of HTTP is one of a head, or the size of a piece of a body. */
const pageHttp: Receiving = {
  // A page with its files is 20 requests of 25 lines, a proxy brings those of many people on one socket.
  ofOne: { atOnce: { bytes: 256 * kib, units: 3_000 }, perSecond: { bytes: 128 * kib, units: 1_000 } },
  ofAll: { atOnce: { bytes: mib, units: 6_000 }, perSecond: { bytes: 512 * kib, units: 3_000 } },
  perTurn: { bytes: 16 * kib, units: 100 },
  closedAfterMs: null,
};

/** Frames. A page sends one for each view that a person opens. */
const pageLive: Receiving = {
  ofOne: { atOnce: { bytes: 16 * kib, units: 40 }, perSecond: { bytes: 4 * kib, units: 10 } },
  ofAll: { atOnce: { bytes: 256 * kib, units: 400 }, perSecond: { bytes: 64 * kib, units: 200 } },
  perTurn: { bytes: 16 * kib, units: 16 },
  closedAfterMs: 3_000,
};

/** MQTT packets, and of MQTT over WebSocket also the frames. */
const broker: Receiving = {
  ofOne: { atOnce: { bytes: 2 * mib, units: 250 }, perSecond: { bytes: mib, units: 250 } },
  ofAll: { atOnce: { bytes: 8 * mib, units: 500 }, perSecond: { bytes: 4 * mib, units: 1_000 } },
  perTurn: { bytes: 64 * kib, units: 20 },
  closedAfterMs: null,
};

/**
 * Frames of one channel. A platform that tells much at once is waited for, never closed. A frame is taken apart in one go, a hundred ms for
 * one that holds as much as may be, so no more of them come than leave stops their turns in between.
 */
const push: Receiving = {
  ofOne: { atOnce: { bytes: 2 * mib, units: 200 }, perSecond: { bytes: 256 * kib, units: 200 } },
  ofAll: { atOnce: { bytes: 4 * mib, units: 500 }, perSecond: { bytes: 512 * kib, units: 500 } },
  perTurn: { bytes: 64 * kib, units: 20 },
  closedAfterMs: null,
};

/** Lines that a mail server says; once its connection is encrypted, its bytes are counted as they come, and lines by chance. */
const mail: Receiving = {
  ofOne: { atOnce: { bytes: 64 * kib, units: 200 }, perSecond: { bytes: 16 * kib, units: 50 } },
  ofAll: null,
  perTurn: { bytes: 16 * kib, units: 50 },
  closedAfterMs: 1_000,
};

/**
 * Limits for the answer of a messenger's service: its lines, heads and pieces of a body alike, and the bytes of its body. The answer of
 * a proxy before it counts too.
 */
const messenger = {
  ofOne: { atOnce: { bytes: 64 * kib, units: 500 }, perSecond: { bytes: 16 * kib, units: 100 } },
  ofAll: null,
  perTurn: { bytes: 16 * kib, units: 100 },
  closedAfterMs: 1_000,
  mostAnswerBytes: 16 * kib,
} as const satisfies Receiving & { readonly mostAnswerBytes: number };

/**
 * Messages of a NATS server, which hands over the whole journal at a start. One message and one line of it are bounded, since either is
 * kept until it is whole: a server that begins a larger one is left.
 */
const nats = {
  ofOne: { atOnce: { bytes: 64 * mib, units: 200_000 }, perSecond: { bytes: 16 * mib, units: 20_000 } },
  ofAll: null,
  perTurn: { bytes: 256 * kib, units: 200 },
  closedAfterMs: null,
  mostMessageBytes: 8 * mib,
  mostLineBytes: 64 * kib,
} as const satisfies Receiving & { readonly mostMessageBytes: number; readonly mostLineBytes: number };

/** What one answer of the platform may come in before its pieces are put together: each costs more than its bytes. */
const answers = { mostPieces: 1_024 };

/**
 * Messages of another broker on one topic where commands come in, of stops there again, and of all that lead nowhere together. A command
 * above it is `overloaded` in any case: of one target no more than 60 a minute are taken.
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
