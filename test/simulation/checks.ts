import { modeAddress, positionAddress, stateAddresses } from "../../src/greenhouse/actuator-fold.js";
import { kindRows, type KindRow } from "../../src/greenhouse/actuator-kinds.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { Controller } from "../../src/greenhouse/model.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { Bridge } from "./bridge.js";
import { type Ask, type Read, Violation, type Write } from "./history.js";
import { targetOf } from "./workload.js";
import { sameAs, type World } from "./world.js";

const positionMode = "10100";
/** Defects that are reported and not mended yet, by their number; their checks are off. */
const pending: ReadonlySet<string> = new Set((process.env["PENDING"] ?? "").split(","));
const ambiguous = new Set(["timeout", "interrupted", "server", "protocol", "throttled", "unauthorized"]);

const isDegree = (raw: RawValue) => /^\d{1,3}$/.test(String(raw).trim()) && Number(raw) <= 100;

/** Watches everything that happens and fails the world when a rule of the contract is broken. */
export class Checks {
  probesFrom = Infinity;
  readonly #world: World;
  /** `GH-0001/101` → the actuator that owns the address. */
  readonly #owners = new Map<string, string>();
  readonly #senders = new Map<string, Ask>();
  readonly #lastPosted = new Map<string, Write>();
  readonly #firstPostAt = new Map<
    string,
    { readonly ask: Ask; readonly at: number; readonly boot: number }
  >();
  #writing = new Map<string, Write>();

  constructor(world: World) {
    this.#world = world;
    world.journalist.onWire = (write) => {
      this.#leaving(write);
    };
    for (const [code, section] of Object.entries(world.scenario.configuration.controllers))
      for (const [id, actuator] of Object.entries(section.actuators))
        for (const address of [
          actuator.address,
          actuator.mode_address,
          actuator.position_address,
          actuator.stop?.address,
        ])
          if (address !== undefined) this.#owners.set(`${code}/${address}`, `${code}/${id}`);
  }

  #broken(invariant: string, message: string): void {
    this.#world.fail(new Violation(invariant, message));
  }

  /** Whose POST one to this address must be: the command of the actuator that said last that it is sending. */
  sender(code: string, address: string): Ask | null {
    return this.#senders.get(this.#owners.get(`${code}/${address}`) ?? "") ?? null;
  }

  phase(bridge: Bridge, by: string | null, phase: string): void {
    const { journalist, time } = this.#world;
    const ask = journalist.asks.get(by ?? "");
    journalist.note("phase", { by, phase });
    if (!ask) {
      this.#broken("S7", `a phase of a command nobody gave: ${by ?? "null"}`);
      return;
    }
    ask.phases.push({ phase, at: time.now, boot: bridge.boot });
    if (phase === "sending") this.#senders.set(laneOf(ask), ask);
    if (phase === "confirming" && ask.boot === bridge.boot && ask.writes.length === 0) {
      const last = this.#lastPosted.get(laneOf(ask))?.ask ?? null;
      ask.donor = last?.donor ?? last;
      ask.inherits = ask.donor === null || ask.donor.boot !== bridge.boot || ask.donor.inherits;
      journalist.saw("an equal command takes over the read-backs");
    }
  }

  /** A POST begins. */
  posting(bridge: Bridge, write: Write): void {
    const { ask } = write;
    const { journalist, time } = this.#world;
    const what = `${write.code}/${write.address}=${write.value} by ${ask?.by ?? "nobody"}`;
    if (ask === null || ask.settings === null) {
      this.#broken("S4", `a POST without a command: ${what}`);
      return;
    }
    const lane = laneOf(ask);
    if (bridge.boot !== ask.boot) this.#broken("S4", `POST for a command of before the restart: ${what}`);
    if (ask.mustNotPost !== null)
      this.#broken("S4", `POST for a command that is ${ask.mustNotPost}: ${what}`);
    if (ask.results.length > 0) this.#broken("S4", `POST after the command's result: ${what}`);
    if (bridge.isStopping && ask.writes.length === 0)
      this.#broken("S12", `a first POST after SIGTERM: ${what}`);
    if (time.now > ask.latestPostAt + 1)
      this.#broken("S6", `POST ${Math.round(time.now - ask.latestPostAt)} ms too late: ${what}`);
    this.#checkIdentity(ask, what);
    this.#checkOrder(ask, write, lane, what);
    this.#checkValue(ask, write, what);
    this.#checkBefore(ask, write, what);
    const earlier = ask.writes.filter((one) => one.address === write.address && one.value === write.value);
    if (earlier.length > 0) this.#checkSecond(ask, write, earlier, what);
    if (write.value === positionMode) journalist.saw("mode 10100 sent");
    this.#writing.set(lane, write);
    this.#lastPosted.set(lane, write);
  }

  #checkIdentity(ask: Ask, what: string): void {
    const { journalist } = this.#world;
    if (ask.repeatOf !== null && ask.repeatOf.writes.length > 0 && ask.repeatOf.boot === ask.boot) {
      const between = journalist
        .lane(ask.code, ask.actuator)
        .some(
          (one) =>
            one !== ask && one !== ask.repeatOf && one.at >= (ask.repeatOf?.at ?? 0) && one.at <= ask.at,
        );
      if (!between || ask.ownId !== null) this.#broken("S4", `POST for a message that came twice: ${what}`);
    }
    if (ask.ownId === null) return;
    for (const one of journalist.lane(ask.code, ask.actuator)) {
      if (one !== ask && one.ownId === ask.ownId && one.writes.length > 0)
        this.#broken("S4", `POST for the id ${ask.ownId} that ${one.by} had used: ${what}`);
    }
  }

  #checkOrder(ask: Ask, write: Write, lane: string, what: string): void {
    const { journalist, time } = this.#world;
    const open = this.#writing.get(lane);
    if (open !== undefined && open.endedAt === null && open.boot === write.boot)
      this.#broken("S11", `a POST while another to the same actuator is under way: ${what}`);
    const all = journalist.lane(ask.code, ask.actuator);
    const last = this.#lastPosted.get(lane)?.ask ?? null;
    if (last !== null && last !== ask && ask.writes.length > 0)
      this.#broken("S11", `sequences of one actuator mix: ${what} after a POST of ${last.by}`);
    const stop = all.find(
      (one) =>
        one.word === "stop" && isTaken(one) && one.boot === ask.boot && one.at < time.now && one.at > ask.at,
    );
    if (stop !== undefined && ask.word !== "stop")
      this.#broken("S11", `a POST after the stop ${stop.by}: ${what}`);
    if (ask.writes.length > 0) return;
    const first = this.#firstPostAt.get(lane);
    const minMs = ask.settings?.minIntervalMs ?? 0;
    if (first && first.boot === write.boot && ask.word !== "stop" && time.now - first.at < minMs - 1)
      this.#broken(
        "S11",
        `${Math.round(time.now - first.at)} ms after the last command, min_interval is ${minMs}: ${what}`,
      );
    this.#firstPostAt.set(lane, { ask, at: time.now, boot: write.boot });
    const newer = all.find(
      (one) =>
        isTaken(one) &&
        one.boot === ask.boot &&
        one.at > ask.at &&
        one.results.length === 0 &&
        one.at < time.now - 60_000,
    );
    if (newer !== undefined && last === null) return;
  }

  #checkValue(ask: Ask, write: Write, what: string): void {
    const { settings, word } = ask;
    if (settings === null || word === null) return;
    const target = targetOf(settings, word);
    if (write.address === target.address && write.value === target.value) return;
    const isMode = write.value === positionMode && write.address === modeAddress(settings) && isDegree(word);
    const isLeadIn =
      settings.kind === "light" && write.value === "1010" && settings.leadIn !== "never" && word !== "on";
    if (!isMode && !isLeadIn) this.#broken("S14", `a value nobody asked for: ${what}, asked was ${word}`);
  }

  /** What must have been seen before: the controller online, a fresh value, the mode. */
  #checkBefore(ask: Ask, write: Write, what: string): void {
    const { journalist } = this.#world;
    const { settings, word } = ask;
    if (settings === null || word === null) return;
    if (word !== "stop" && ask.writes.length === 0) {
      const online = journalist.readsSince(ask.code, "", ask.at).at(-1);
      if (online?.raw !== "online")
        this.#broken("S12", `POST although the controller was not seen online: ${what}`);
      const fresh = stateAddresses(settings).some(
        (address) => journalist.readsSince(ask.code, address, ask.at).length > 0,
      );
      if (!fresh && !ask.force) this.#broken("S12", `POST without a fresh read before: ${what}`);
    }
    const row: KindRow = kindRows[settings.kind];
    if (row.positionMode !== null && isDegree(write.value) && write.address === positionAddress(settings)) {
      const mode = ask.writes.findLast(
        (one) => one.value === positionMode && one.address === modeAddress(settings),
      );
      if (mode === undefined || mode.endedAt === null) {
        this.#broken("S2", `a degree without mode 10100 before it: ${what}`);
        return;
      }
      const proof = journalist
        .readsSince(ask.code, mode.address, mode.endedAt)
        .find((read) => read.raw !== null && (sameAs(positionMode, read.raw) || isDegree(read.raw)));
      if (proof === undefined) this.#broken("S2", `a degree although mode 10100 was not read back: ${what}`);
      else if (proof.begunAt > mode.endedAt + 30_001 + this.#stalled() && !pending.has("F7"))
        this.#broken("S2", `mode 10100 was proven too late: ${what}`);
    }
    if (
      settings.kind === "light" &&
      word !== "on" &&
      word !== "stop" &&
      settings.leadIn !== "never" &&
      write.value !== "1010"
    ) {
      const lit = journalist
        .readsSince(ask.code, settings.address, ask.at)
        .some((read) => read.raw !== null && sameAs("1010", read.raw));
      if (!lit && !ask.force) this.#broken("S2", `a light's value although 1010 was not read back: ${what}`);
    }
  }

  #stalled(): number {
    return this.#world.time.now - this.#world.lastStallAt < 90_000 ? 30_000 : 0;
  }

  #checkSecond(ask: Ask, write: Write, earlier: readonly Write[], what: string): void {
    const { journalist } = this.#world;
    journalist.saw("a second POST");
    const [first] = earlier;
    if (first === undefined || first.endedAt === null) return;
    if (earlier.length > 1) this.#broken("S1", `POST number ${earlier.length + 1}: ${what}`);
    const isUnauthorized = first.outcome === "unauthorized";
    const isAmbiguous = ambiguous.has(first.outcome ?? "") && (first.bodyCode === null || isUnauthorized);
    if (!isAmbiguous || (!first.sent && !isUnauthorized))
      this.#broken(
        "S1",
        `a second POST after ${first.outcome ?? "nothing"} (code ${first.bodyCode ?? "none"}): ${what}`,
      );
    if (write.begunAt - first.endedAt < 5_000 - 1)
      this.#broken("S1", `a second POST after ${Math.round(write.begunAt - first.endedAt)} ms: ${what}`);
    const last = journalist.readsSince(ask.code, write.address, first.endedAt).at(-1);
    if (last === undefined || last.raw === null)
      this.#broken("S1", `a second POST without a read before it: ${what}`);
    else if (shows(ask, write, last.raw))
      this.#broken("S1", `a second POST although the read showed the value: ${what}`);
  }

  /** The bytes of a POST go out. */
  #leaving(write: Write): void {
    const { disk, journalist, time } = this.#world;
    const by = write.ask?.by ?? "";
    if (write.ask?.word === "stop") {
      if (!disk.durable.has(`command_taken ${by}`)) journalist.saw("a stop without the journal");
      return;
    }
    if (!disk.durable.has(`command_taken ${by}`))
      this.#broken("S5", `a POST of ${by} leaves before its record is on disk at ${time.now}`);
  }

  /** A result is published, or tried to be. */
  result(bridge: Bridge, result: CommandResult): void {
    const { journalist, time, disk } = this.#world;
    const { by, outcome, reason, repeated } = result;
    journalist.note("result", {
      by,
      outcome,
      reason,
      repeated,
      read_back: result.read_back,
      steps: result.steps,
    });
    journalist.saw(`outcome ${outcome}${reason === null ? "" : ` ${reason}`}`);
    if (JSON.stringify(result).includes("secret-canary")) this.#broken("S15", "a secret in a result");
    const ask = journalist.asks.get(by ?? "");
    if (!ask) {
      this.#broken("S7", `a result for a command nobody gave: ${JSON.stringify(result)}`);
      return;
    }
    const first = ask.results[0];
    if (first) {
      const same = first.result.outcome === outcome && first.result.finished_at === result.finished_at;
      if (!same && this.#unjournaled.has(ask.by)) {
        journalist.saw("an outcome the journal could not take is found out again");
        return;
      }
      if (pending.has("F9") && first.result.sent_at === null && ask.boot !== bridge.boot) return;
      if (!same)
        this.#broken(
          "S7",
          `${ask.by} has two results: ${first.result.outcome} ${first.result.reason ?? ""}, then ${outcome} ${reason ?? ""}`,
        );
      else if (!repeated) this.#broken("S7", `${ask.by}: its result came again without repeated`);
      else journalist.saw("a result repeated");
      return;
    }
    ask.results.push({ result, at: time.now, boot: bridge.boot });
    const isJournaled = disk.written.has(`result ${ask.by}`) || disk.written.has(`refusal ${ask.by}`);
    const isExcused =
      bridge.journal?.state().available === false ||
      time.now - this.#world.lastDiskTroubleAt < 60_000 ||
      this.#world.lastDiskTroubleAt === Infinity;
    if (bridge.journal?.state().available === false) this.#unjournaled.add(ask.by);
    if (!isJournaled && !isExcused && outcome !== "refused" && this.#world.scenario.syncFailure === 0)
      this.#broken("S7", `the result of ${ask.by} is published before it is journaled`);
    if (ask.boot !== bridge.boot && !repeated) journalist.saw(`recovered as ${outcome}`);
    this.#checkTruth(ask, result, bridge);
  }

  #checkTruth(ask: Ask, result: CommandResult, bridge: Bridge): void {
    const { journalist, time } = this.#world;
    const { outcome, reason } = result;
    const tell = `${ask.by} (${ask.word ?? ask.payload}) ended ${outcome} ${reason ?? ""}`;
    const isRecovered = ask.boot !== bridge.boot || ask.inherits;
    // After a crash the publication of an outcome from before it says nothing about now.
    if (isRecovered && result.repeated) return;
    const poster = ask.writes.length > 0 ? ask : (ask.donor ?? ask);
    const sent = poster.writes;
    const last = sent.at(-1);
    const isPosting = sent.some((one) => one.endedAt === null && one.boot === bridge.boot);
    if (isPosting) this.#broken("S7", `${tell} while its POST is under way`);
    const mine = ask.writes.some((one) => one.sent || one.wires > 0);
    if (
      (outcome === "refused" ||
        outcome === "already" ||
        outcome === "dry_run" ||
        reason === "before_sending") &&
      ask.writes.length > 0
    )
      this.#broken("S4", `${tell} although it was sent`);
    if (ask.settings === null || ask.word === null) {
      if (outcome !== "refused") this.#broken("S7", `${tell}: it is no command`);
      return;
    }
    const target = targetOf(ask.settings, ask.word);
    const since = last?.endedAt ?? last?.begunAt ?? ask.at;
    const doneAt = ask.phases.findLast(({ phase }) => phase === "done")?.at ?? time.now;
    // Reads that a newer command made for its own checks say nothing of what this one saw.
    const isAlone = !journalist
      .lane(ask.code, ask.actuator)
      .some(
        (one) =>
          one !== ask &&
          one.phases.some(({ phase, at }) => phase === "checking" && at >= since - 60_000 && at <= doneAt),
      );
    const reads = journalist
      .readsSince(ask.code, last?.address ?? target.address, since)
      .filter((read) => read.endedAt !== null && read.endedAt <= doneAt);
    const targetReads = journalist.readsSince(
      ask.code,
      target.address,
      isRecovered ? this.#bootedAt(bridge) : since,
    );
    const step: Pick<Write, "address" | "value"> = target;
    switch (outcome) {
      case "confirmed": {
        const proof = targetReads.findLast((read) => read.raw !== null && shows(ask, step, read.raw));
        if (proof === undefined) this.#broken("S8", `${tell}: no read-back shows ${target.value}`);
        else this.#checkHeld(ask, poster, target, proof, tell);
        if (last === undefined && !isRecovered) this.#broken("S8", `${tell} without a POST`);
        break;
      }
      case "already": {
        const proof = journalist
          .readsSince(ask.code, target.address, ask.at)
          .findLast((read) => read.raw !== null && shows(ask, step, read.raw));
        if (proof === undefined) this.#broken("S8", `${tell}: no fresh read shows ${target.value}`);
        else this.#checkHeld(ask, ask, target, proof, tell);
        this.#checkAlready(ask, tell);
        break;
      }
      case "unconfirmed": {
        if (!isRecovered && last?.outcome !== "accepted")
          this.#broken("S7", `${tell}: nothing was accepted (${last?.outcome ?? "nothing sent"})`);
        if (!isRecovered && reads.length === 0)
          this.#broken("S7", `${tell}: without a read after the POST it is unknown`);
        const shown = reads.find(
          (read) =>
            last !== undefined && read.raw !== null && !isRecovered && isAlone && shows(ask, last, read.raw),
        );
        if (shown !== undefined) this.#broken("S7", `${tell}: a read-back showed it at ${shown.begunAt}`);
        break;
      }
      case "failed":
        this.#checkFailed(ask, result, { isRecovered, isAlone, reads, last, tell });
        break;
      case "unknown": {
        if (!mine && ask.donor === null && !isRecovered) this.#broken("S7", `${tell}: nothing was sent`);
        if (!isRecovered && isAlone && reads.length > 0)
          this.#broken("S7", `${tell} although ${reads.length} reads after the POST were good`);
        break;
      }
      case "rejected": {
        const isAuth = last?.outcome === "unauthorized";
        if (last === undefined || (!isAuth && (last.bodyCode === null || last.bodyCode === "200")))
          this.#broken("S7", `${tell}: the platform gave no other code (${last?.outcome ?? "nothing sent"})`);
        break;
      }
      case "superseded": {
        const newer = journalist.lane(ask.code, ask.actuator).some((one) => one.at >= ask.at && one !== ask);
        if (!newer) this.#broken("S7", `${tell}: nothing newer came`);
        if (reason === "after_sending" && !mine && ask.donor === null && !isRecovered)
          this.#broken("S7", `${tell}: nothing was sent`);
        break;
      }
      case "dry_run":
        if (!ask.dryRun) this.#broken("S7", `${tell}: nobody asked for a dry run`);
        break;
      case "refused":
        if (isRecovered) this.#broken("S7", `${tell} after a restart`);
        if (reason === "retained" && !ask.retained) this.#broken("S7", `${tell}: it was not retained`);
        break;
    }
    if (!isRecovered && ask.writes.length > 0) this.#checkSteps(ask, result, tell);
  }

  #bootedAt(bridge: Bridge): number {
    return bridge.clock.worldAt(1_000);
  }

  #checkFailed(
    ask: Ask,
    { reason }: CommandResult,
    {
      isRecovered,
      isAlone,
      reads,
      last,
      tell,
    }: {
      isRecovered: boolean;
      isAlone: boolean;
      reads: readonly Read[];
      last: Write | undefined;
      tell: string;
    },
  ): void {
    if (isRecovered) {
      const accepted = ask.writes.find(
        (one) =>
          one.outcome === "accepted" &&
          ask.word !== null &&
          ask.settings !== null &&
          one.value === targetOf(ask.settings, ask.word).value &&
          one.address === targetOf(ask.settings, ask.word).address,
      );
      if (accepted !== undefined && this.#survived.has(ask.by))
        this.#broken("S7", `${tell} after a restart although the journal says that the platform accepted it`);
      return;
    }
    if (reason === "expired_midway") {
      if (ask.writes.length === 0 || this.#world.time.now <= ask.latestPostAt - 121_000)
        this.#broken("S7", `${tell}: too early`);
      return;
    }
    const steps = ask.writes.filter((one) => one.address === last?.address && one.value === last.value);
    if (reason === "not_sent") {
      if (steps.some((one) => one.wires > 0)) this.#broken("S7", `${tell} although a POST left`);
      return;
    }
    if (steps.some((one) => one.outcome === "accepted"))
      this.#broken("S7", `${tell} although the platform accepted it`);
    if (reads.length === 0) this.#broken("S7", `${tell} without a read after the POST: it is unknown`);
    const shown = reads.find((read) => last !== undefined && read.raw !== null && shows(ask, last, read.raw));
    if (shown !== undefined && isAlone) this.#broken("S7", `${tell} although a read showed the value`);
  }

  #checkHeld(
    ask: Ask,
    poster: Ask,
    target: { address: string; value: string },
    proof: Read,
    tell: string,
  ): void {
    if (proof.isLie) {
      this.#world.journalist.saw("a lie was believed");
      return;
    }
    const from = Math.min(poster.writes[0]?.begunAt ?? ask.at, proof.begunAt);
    const held = this.#world.heldBetween(ask.code, target.address, from, this.#world.time.now);
    const isHeld = held.some(
      (value) => sameAs(target.value, value) || near(ask.settings, target.value, value),
    );
    const travels = this.#world.scenario.profile === "list" || this.#world.scenario.profile === "text";
    if (!isHeld && !travels)
      this.#broken("S8", `${tell} but the platform never held ${target.value}: ${held.join(", ")}`);
  }

  #checkAlready(ask: Ask, tell: string): void {
    if (ask.force || ask.word === "stop") this.#broken("S4", `${tell} although it was forced or is a stop`);
    const last = this.#lastPosted.get(laneOf(ask));
    if (last === undefined || last.boot !== ask.boot || ask.settings === null) return;
    if (
      ask.word !== null &&
      isDegree(ask.word) &&
      last.endedAt !== null &&
      this.#world.time.now - last.endedAt < ask.settings.travelMs
    )
      this.#broken("S8", `${tell} while the actuator may still travel`);
    const read = this.#world.journalist.readsSince(ask.code, last.address, last.endedAt ?? Infinity)[0];
    if (read === undefined && last.sent)
      this.#broken("S8", `${tell} although the POST of ${last.ask?.by ?? ""} was not read back`);
  }

  #checkSteps(ask: Ask, result: CommandResult, tell: string): void {
    for (const step of result.steps) {
      const writes = ask.writes.filter((one) => one.address === step.address && one.value === step.value);
      if (writes.length !== step.attempts)
        this.#broken("S7", `${tell}: its step says ${step.attempts} attempts, ${writes.length} were made`);
      const code = writes.at(-1)?.bodyCode ?? null;
      if (step.code !== code)
        this.#broken("S7", `${tell}: its step says code ${step.code ?? "null"}, it was ${code ?? "null"}`);
    }
    if (result.steps.length === 0 && ask.writes.length > 0 && !pending.has("F6"))
      this.#broken("S7", `${tell} without telling its steps`);
  }

  /** Commands whose outcome was told while the journal could not be written: a crash before it can loses that outcome. */
  readonly #unjournaled = new Set<string>();
  /** Commands whose accepted answer the journal kept over the crash. */
  readonly #survived = new Set<string>();

  crashing(bridge: Bridge, isPowerCut: boolean): void {
    const { journalist, time, disk } = this.#world;
    const open = [...journalist.asks.values()].filter(
      (ask) => ask.boot === bridge.boot && ask.results.length === 0 && ask.phases.length > 0,
    );
    if (open.length === 0) journalist.saw("a crash with nothing open");
    for (const ask of open) {
      const last = ask.writes.at(-1);
      const taken = disk.durable.has(`command_taken ${ask.by}`);
      const phase = ask.phases.at(-1)?.phase ?? "";
      const what =
        last === undefined
          ? ""
          : last.value === positionMode && ask.word !== "stop"
            ? " the mode"
            : " the value";
      if (phase === "waiting") journalist.saw("a crash while waiting");
      else if (phase === "checking")
        journalist.saw(taken ? "a crash while checking, journaled" : "a crash while checking, not journaled");
      else if (last !== undefined && last.endedAt === null) journalist.saw(`a crash while posting${what}`);
      else if (last !== undefined) journalist.saw(`a crash after posting${what}`);
      const early = last?.endedAt !== null && last !== undefined && last.endedAt < time.now - 1;
      if (
        !isPowerCut &&
        early &&
        !disk.full &&
        this.#world.scenario.syncFailure === 0 &&
        this.#world.lastDiskTroubleAt < last.begunAt - 30_000
      )
        this.#survived.add(ask.by);
    }
    if (isPowerCut) journalist.saw("a power cut");
    this.#writing = new Map();
    this.#senders.clear();
  }

  clockJumped(): void {
    const { journalist } = this.#world;
    const isConfirming = [...journalist.lanes.values()].some((lane) => {
      const ask = lane.at(-1);
      return ask !== undefined && ask.results.length === 0 && ask.phases.at(-1)?.phase === "confirming";
    });
    journalist.saw(isConfirming ? "a clock jump during confirming" : "a clock jump");
  }

  /** S3 and S10: the mirror holds only what a read returned, and never goes back. */
  mirrorChanged(bridge: Bridge, before: Controller | undefined, after: Controller | undefined): void {
    if (after === undefined || before === undefined || before.actuators === after.actuators) return;
    const { code } = after.info;
    for (const [id, actuator] of after.actuators) {
      const earlier = before.actuators.get(id);
      if (earlier === undefined || earlier.registers === actuator.registers) continue;
      for (const [address, register] of Object.entries(actuator.registers)) {
        const held = earlier.registers[address];
        if (held === register) continue;
        const where = `${code}/${id} address ${address}`;
        const list = this.#world.journalist.reads.get(`${code}/${address}`) ?? [];
        const shown = list.some(
          (read) =>
            read.boot === bridge.boot && read.begunMono === register.startedAt && read.raw === register.raw,
        );
        // A poll notes its answers a moment after they are folded.
        const isPoll = register.source === "poll";
        if (!shown && !isPoll)
          this.#broken("S3", `${where} shows ${String(register.raw)} that no read returned`);
        if (held !== undefined && register.startedAt < held.startedAt)
          this.#broken("S10", `${where} went back in time`);
        const post = this.#lastPosted.get(`${code}/${id}`);
        if (post?.boot === bridge.boot && bridge.clock.worldAt(register.startedAt) < post.begunAt - 1e-6)
          this.#broken("S10", `${where} changed by a read begun before our last POST`);
      }
    }
  }

  /** Liveness, once every fault has been gone for half an hour. */
  atTheEnd(): void {
    const { journalist, time, bridge, disk } = this.#world;
    for (const ask of journalist.asks.values()) {
      if (ask.results.length > 0 || ask.retained) continue;
      const isLost =
        ask.boot !== bridge?.boot &&
        !disk.durable.has(`command_taken ${ask.by}`) &&
        !disk.written.has(`refusal ${ask.by}`);
      if (isLost) continue;
      const isYoung = time.now - ask.at < 240_000;
      if (!isYoung)
        this.#broken("L1", `${ask.by} of ${Math.round((time.now - ask.at) / 1000)} s ago has no result`);
    }
    this.#checkProbes();
    this.#checkMirror();
    const open = bridge?.journal?.history().open ?? [];
    for (const one of open) {
      const ask = journalist.asks.get(one.taken.by ?? "");
      const isRefused = pending.has("F8") && !disk.written.has(`result ${ask?.by ?? ""}`);
      if (ask && time.now - ask.at > 240_000 && !isRefused)
        this.#broken("L5", `${ask.by} is still open in the journal`);
    }
    if ((bridge?.waitingResults ?? 0) > 0)
      this.#broken("L3", `${bridge?.waitingResults ?? 0} results still wait for the broker`);
    if (bridge === null || !bridge.clock.isAlive) this.#broken("L1", "the bridge does not run");
  }

  #checkProbes(): void {
    const { journalist } = this.#world;
    for (const lane of journalist.lanes.values()) {
      const probe = lane.findLast((ask) => ask.at >= this.probesFrom);
      if (probe === undefined || probe.mustNotPost !== null || probe.settings === null) continue;
      // This light is told never to be switched on first, whatever its controller wants.
      if (probe.settings.kind === "light" && probe.settings.leadIn === "never") continue;
      const [end] = probe.results;
      const outcome = end?.result.outcome;
      // Registers as slow as this leave a command of two steps no time within its max_age.
      if (
        outcome === "failed" &&
        end?.result.reason === "expired_midway" &&
        this.#world.scenario.registerLagMs > 10_000
      )
        continue;
      const within = Math.max(probe.settings.travelMs, 60_000) + 45_000;
      if (outcome !== "confirmed" && outcome !== "already")
        this.#broken(
          "L4",
          `${probe.by} ended ${outcome ?? "not at all"} ${end?.result.reason ?? ""} with every fault gone: ${end?.result.message ?? ""}`,
        );
      else if (end !== undefined && end.at - probe.at > within)
        this.#broken("L4", `${probe.by} took ${Math.round((end.at - probe.at) / 1000)} s`);
    }
  }

  #checkMirror(): void {
    const { bridge, time } = this.#world;
    for (const controller of bridge?.store?.controllers() ?? []) {
      for (const actuator of controller.actuators.values()) {
        const { settings } = actuator;
        const where = `${controller.info.code}/${settings.id}`;
        if (actuator.quality !== "good") this.#broken("L2", `${where} is ${actuator.quality}`);
        const address = modeAddress(settings);
        const held = this.#world.heldBetween(controller.info.code, address, time.now - 300_000, time.now);
        const raw = actuator.registers[address]?.raw;
        if (raw === undefined || held.length > 1) continue;
        const isShown = held.some((value) => sameAs(value, raw)) || isDegree(raw);
        if (!isShown) this.#broken("L2", `${where} shows ${String(raw)}, the platform holds ${held.join()}`);
      }
    }
  }

  stopped(bridge: Bridge): void {
    if (bridge.clock.isAlive) this.#broken("S13", "the bridge did not end within a minute of SIGTERM");
  }
}

const laneOf = (ask: Ask): string => `${ask.code}/${ask.actuator}`;

/** The bridge said that it took it. */
const isTaken = (ask: Ask): boolean => ask.phases.length > 0;

function near(settings: ActuatorSettings | null, wanted: string, raw: RawValue): boolean {
  return (
    settings !== null &&
    settings.tolerance > 0 &&
    isDegree(wanted) &&
    isDegree(raw) &&
    Math.abs(Number(wanted) - Number(raw)) <= settings.tolerance
  );
}

/** Whether a read shows what was sent; written without the product's own comparison. */
function shows(ask: Ask, step: Pick<Write, "address" | "value">, raw: RawValue): boolean {
  const { settings, word } = ask;
  const isMode = step.value === positionMode && word !== "stop";
  if (settings !== null && isMode && step.address === modeAddress(settings) && isDegree(raw)) return true;
  return sameAs(step.value, raw) || near(settings, step.value, raw);
}
