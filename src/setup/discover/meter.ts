import type { Clock } from "../../runtime/clock.js";
import { type Screen, StatusLine } from "../status-line.js";
import { commentText } from "./text.js";

const barWidth = 24;
const redrawMs = 200;

/** How far a scan is: a bar on a terminal, nothing elsewhere. What others write goes above the bar. */
export class Meter {
  readonly #screen: Screen;
  readonly #line: StatusLine;
  readonly #clock: Clock;
  /** Least time between two requests, on average. */
  readonly #gapMs: number;
  readonly #notes = new Set<string>();
  #total = 0;
  #done = 0;
  #resumed = 0;
  #label = "";
  #startedAt = 0;
  #shownAt = 0;

  /** `perMinute`: the request budget, 0 for none. */
  constructor(screen: Screen, clock: Clock, perMinute: number) {
    this.#screen = screen;
    this.#line = new StatusLine(screen);
    this.#clock = clock;
    this.#gapMs = perMinute === 0 ? 0 : 60_000 / perMinute;
  }

  /** Anything else that goes to the same screen. */
  write(text: string): void {
    this.#line.above(() => this.#screen.write(text));
  }

  /** One sentence about something that went otherwise than planned; once. */
  note(sentence: string): void {
    if (this.#notes.has(sentence)) return;
    this.#notes.add(sentence);
    this.write(`${sentence}\n`);
  }

  /** `total` requests are planned, `done` of them were answered in an earlier run. */
  begin(total: number, done: number): void {
    this.#total = total;
    this.#done = done;
    this.#resumed = done;
    this.#startedAt = this.#clock.monotonic();
    this.#shownAt = this.#startedAt;
    if (!this.#line.isShown) return;
    const left = total - done;
    const time = durationText(left * this.#gapMs);
    const resumed = done === 0 ? "" : ` (${done} of ${total} are known from an interrupted scan)`;
    this.note(`${left} requests to go${resumed}, ${time}; nothing is sent to any actuator`);
    this.#show();
  }

  asked(code: string): void {
    this.#done += 1;
    this.#label = commentText(code, 24);
    const now = this.#clock.monotonic();
    if (!this.#line.isShown || now - this.#shownAt < redrawMs) return;
    this.#shownAt = now;
    this.#show();
  }

  /** So many requests of the plan are not needed after all. */
  spared(requests: number): void {
    this.#total = Math.max(this.#done, this.#total - requests);
  }

  end(): void {
    this.#line.end();
  }

  #show(): void {
    const share = this.#total === 0 ? 1 : this.#done / this.#total;
    const full = Math.round(share * barWidth);
    const bar = "#".repeat(full) + ".".repeat(barWidth - full);
    this.#line.show(`[${bar}] ${this.#done}/${this.#total}  ${this.#left()}  ${this.#label}`);
  }

  #left(): string {
    const asked = this.#done - this.#resumed;
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    const each = Math.max(this.#gapMs, asked === 0 ? 0 : elapsedMs / asked);
    return `${durationText((this.#total - this.#done) * each)} left`;
  }
}

/** As exact as an estimate can be. */
function durationText(ms: number): string {
  if (ms < 60_000) return "less than a minute";
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 90) return `about ${minutes} min`;
  return `about ${(minutes / 60).toFixed(1)} h`;
}
