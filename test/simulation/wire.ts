import type { PlatformHost } from "../../src/greenhouse/ports.js";
import { type Call, type HostWay, type HttpAnswer, TransportFailure } from "../../src/platform/http.js";
import { errorCode } from "../../src/runtime/file-system.js";
import { NameError } from "../../src/runtime/host-names.js";
import { Semaphore } from "../../src/runtime/schedule.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import type { PlatformRequest } from "../../src/simulator/call.js";
import type { Platform } from "../../src/simulator/platform.js";
import { type Decision, respond } from "../../src/simulator/respond.js";
import type { Post } from "../judge/history.js";
import { type Journalist, Violation } from "./history.js";
import { type NameTrouble, SimulatedNames } from "./names.js";
import type { Chance } from "./scenario.js";
import type { VirtualTime } from "../support/virtual-clock.js";
import type { BootClock } from "./time.js";

/** The network between bridge and platform; all probabilities are per request. */
export interface NetworkManners {
  readonly minLatencyMs: number;
  readonly maxLatencyMs: number;
  /** No connection comes about. */
  readonly connectFailure: number;
  /** A POST's bytes are cut on the way and never arrive. */
  readonly lostRequest: number;
  /** The answer is lost on its way back. */
  readonly lostAnswer: number;
  /** The request arrives late, perhaps when nobody waits for it any more. */
  readonly straggler: number;
}

export const calmNetwork: NetworkManners = {
  minLatencyMs: 2,
  maxLatencyMs: 40,
  connectFailure: 0,
  lostRequest: 0,
  lostAnswer: 0,
  straggler: 0,
};

interface Around {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly names: { readonly chance: Chance; readonly troubles: readonly NameTrouble[] };
  readonly journalist: Pick<Journalist, "note" | "saw" | "wire" | "arrived" | "answered">;
  readonly epoch: number;
  readonly fail: (violation: Violation) => void;
}

/** Carries requests to the platform model and answers back, in the world's time. */
export class Wire {
  manners: NetworkManners = calmNetwork;
  readonly #state: Platform;
  readonly #around: Around;
  /** Contacts of the realtime host, by run of the program. */
  readonly #contacts = new WeakMap<BootClock, Contact>();
  readonly #names = new WeakMap<BootClock, SimulatedNames>();

  constructor(state: Platform, around: Around) {
    this.#state = state;
    this.#around = around;
  }

  contactOf(clock: BootClock): Contact {
    return this.#contacts.get(clock) ?? { lost: 0, answeredAt: -Infinity };
  }

  /** Notes the outcome of a request: an answer, a part of one, or nothing. */
  #note(host: PlatformHost, clock: BootClock, isAnswered: boolean): void {
    if (host !== "realtime") return;
    const { lost, answeredAt } = this.contactOf(clock);
    const next = isAnswered ? { lost: 0, answeredAt: this.#around.time.now } : { lost: lost + 1, answeredAt };
    this.#contacts.set(clock, next);
  }

  /** Name resolution of this run of the program. */
  #namesOf(clock: BootClock): SimulatedNames {
    const known =
      this.#names.get(clock) ?? new SimulatedNames(clock, { ...this.#around, ...this.#around.names });
    this.#names.set(clock, known);
    return known;
  }

  get platformNow(): number {
    return this.#around.epoch + this.#around.time.now;
  }

  exchange(
    host: PlatformHost,
    outgoing: Call,
    headers: string[],
    clock: BootClock,
    limitMs: number,
  ): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const trip = tripOf(outgoing, headers, host);
      const connecting = new AbortController();
      const end = (settle: () => void) => {
        if (trip.ended) return;
        trip.ended = true;
        connecting.abort();
        trip.deadline?.();
        clock.departures.returned(outgoing.signal);
        outgoing.signal.removeEventListener("abort", abort);
        if (trip.isSignIn) clock.signInsOpen -= 1;
        settle();
      };
      const fail = (reason: TransportFailure["reason"], code = "") =>
        end(() => {
          if (reason !== "aborted" && reason !== "withheld") this.#note(host, clock, trip.status !== 0);
          const cause = code === "" ? undefined : Object.assign(new Error(code), { code });
          reject(new TransportFailure(reason, trip.sent, trip.status, cause));
        });
      // A POST that has begun is not aborted.
      const abort = () => {
        if (!trip.isPost || !trip.sent) fail("aborted");
      };
      if (trip.isSignIn) {
        clock.signInsOpen += 1;
        this.#around.journalist.note("sign_in", { open: clock.signInsOpen });
        if (clock.signInsOpen > 1)
          this.#around.fail(new Violation("S13", `${clock.signInsOpen} sign-ins at once`));
      }
      clock.departures.left(outgoing.signal);
      outgoing.signal.addEventListener("abort", abort, { once: true });
      if (outgoing.signal.aborted) {
        abort();
        return;
      }
      const connected = () => {
        if (trip.ended) return;
        trip.deadline = clock.in(limitMs, () => fail("timeout"));
        this.#connected(trip, outgoing, clock, {
          fail,
          answer: (answer) =>
            end(() => {
              this.#note(host, clock, true);
              resolve(answer);
            }),
        });
      };
      const { signal } = connecting;
      const way = { host: `${host}.example.com`, limitMs, latencyMs: () => this.#latency(), signal };
      this.#namesOf(clock)
        .connect(way)
        .then(connected, (error: unknown) => fail("connection", codeOf(error)));
    });
  }

  #latency(): number {
    return this.#around.chance.logUniform(this.manners.minLatencyMs, this.manners.maxLatencyMs);
  }

  #connected(trip: Trip, { mayBegin }: Call, clock: BootClock, ends: TripEnds): void {
    const isRefused = this.#state.outageOf(trip.host, this.platformNow) === "refuse";
    if (isRefused || this.#around.chance.hits(this.manners.connectFailure)) {
      ends.fail("connection", this.#around.chance.of(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH"]));
      return;
    }
    if (mayBegin?.() === false) {
      ends.fail("withheld");
      return;
    }
    trip.sent = true;
    if (trip.isPost) trip.post = this.#around.journalist.wire(trip.body);
    if (trip.isPost && this.#around.chance.hits(this.manners.lostRequest)) {
      // Cut within the request: the platform never sees all of it.
      clock.in(this.#latency(), () => ends.fail("connection", "ECONNRESET"));
      return;
    }
    const lateMs = this.#around.chance.hits(this.manners.straggler)
      ? this.#around.chance.logUniform(5_000, 90_000)
      : 0;
    this.#around.time.in(this.#latency() + lateMs, () => this.#arrived(trip, clock, ends));
  }

  /** What is on the way arrives, whatever became of the client. */
  #arrived(trip: Trip, clock: BootClock, ends: TripEnds): void {
    const decision = respond(this.#state, trip.request, this.platformNow);
    if (trip.isPost) {
      const newest = this.#state.posts.at(-1) ?? null;
      this.#around.journalist.arrived(trip.post, newest?.at === this.platformNow ? newest : null);
    }
    if (decision.delayMs === Infinity) return;
    const isLost = this.#around.chance.hits(this.manners.lostAnswer);
    clock.in(decision.delayMs + this.#latency(), () => this.#answered(trip, decision, isLost, ends));
  }

  #answered(trip: Trip, decision: Decision, isLost: boolean, ends: TripEnds): void {
    if (decision.cut !== null || isLost) {
      if (decision.cut === "during") trip.status = decision.status;
      ends.fail("connection", "ECONNRESET");
      return;
    }
    this.#around.journalist.answered(trip.request, decision.body);
    const date = new Date(this.platformNow).toUTCString();
    ends.answer({
      status: decision.status,
      headers: { ...decision.headers, date },
      body: Buffer.from(decision.body),
    });
  }
}

/** Undici's code for a connection that took too long. */
const codeOf = (error: unknown): string =>
  error instanceof NameError
    ? error.code
    : errorCode(error) === "ETIMEDOUT"
      ? "UND_ERR_CONNECT_TIMEOUT"
      : "ECONNREFUSED";

/** The connections of one run of the program to the hosts, instead of its own. */
export const wayOver =
  (wire: Wire, clock: BootClock) =>
  (address: string, { timeouts, concurrency }: PlatformSettings): HostWay => {
    const url = new URL(address);
    const host = url.hostname.startsWith("business") ? "business" : "realtime";
    const deadlineMs = ({ pace, operation }: Call) =>
      pace !== "polled" || operation.method === "POST" ? timeouts.control : timeouts.read;
    return {
      url,
      semaphore: new Semaphore(concurrency),
      exchange: (call, headers) => wire.exchange(host, call, headers, clock, deadlineMs(call)),
      deadlineMs,
      preparePost: () => undefined,
      close: () => Promise.resolve(),
    };
  };

/** Attempts without connection or answer since the last answer, and its time. */
interface Contact {
  readonly lost: number;
  readonly answeredAt: number;
}

interface TripEnds {
  readonly fail: (reason: TransportFailure["reason"], code?: string) => void;
  readonly answer: (answer: HttpAnswer) => void;
}

/** One request and its progress. */
interface Trip {
  readonly host: PlatformHost;
  readonly isPost: boolean;
  readonly isSignIn: boolean;
  readonly body: string;
  /** The request as the platform sees it. */
  readonly request: PlatformRequest;
  post: Post | null;
  sent: boolean;
  ended: boolean;
  status: number;
  deadline: (() => void) | null;
}

function tripOf({ operation, path, body }: Call, headers: readonly string[], host: PlatformHost): Trip {
  const [plain = path, query = ""] = path.split("?");
  const pairs: [string, string][] = [];
  for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at] ?? "", headers[at + 1] ?? ""]);
  return {
    host,
    body: body ?? "",
    isSignIn: path === "/api/account/sign-in",
    isPost: path === "/api/set-value" && operation.method === "POST",
    request: {
      host,
      method: operation.method,
      path: plain,
      body: body ?? null,
      query: query === "" ? {} : Object.fromEntries(new URLSearchParams(query)),
      headers: Object.fromEntries(pairs),
    },
    post: null,
    sent: false,
    ended: false,
    status: 0,
    deadline: null,
  };
}
