import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useId } from "preact/hooks";
import { isEnding } from "../greenhouse/actuator-kinds.js";
import { type CommandResult, isBad } from "../greenhouse/command/outcomes.js";
import { bridge, withoutEmpty, newId, now, post, session } from "./live.js";
import type { HistoryProps } from "./journal.js";
import { actReason, Asking, Button, Field, type Lasting, LastingChoice, ownReason } from "./inputs.js";
import { configuredSeconds, Length } from "./length-input.js";
import { Age, Badge, By, Code, Icon, isIcon, Quality, Says, Value } from "./parts.js";
import type { ActuatorView, ControllerView, LimitsDocument, ParameterView } from "./protocol.js";
import { errorSentence, limitReasons, phaseText, resultSentences, type Sentence } from "./sentences.js";
import { clockText, codeText, commandText, lengthText, t, wordLabel } from "./words.js";

export type Command = string | number;
/** A parameter has no limits. */
export type Commandable = (ActuatorView | ParameterView) & Partial<LimitsDocument>;

const isActuator = (one: Commandable): one is ActuatorView => "words" in one;

/** Why not even a stop can be sent now; null if it can. */
function stopReason(of: Commandable): string | null {
  const reason = actReason();
  if (reason !== null) return reason;
  if (bridge.value?.read_only) return t("rule_read_only");
  return isActuator(of) && of.read_only ? t("why_actuator") : null;
}

/** Why only a stop can be sent now, which needs neither controller nor platform online; null if anything can. */
function standingReason(availability: string, of: Commandable): string | null {
  const reason = stopReason(of);
  if (reason !== null) return reason;
  if (availability === "offline") return t("why_offline");
  return bridge.value?.platform === "unreachable" ? t("why_platform") : null;
}

/** The choices of an actuator, or of a group, which has no rules of its own. */
export type Choosable = Pick<ActuatorView, "name" | "words" | "stop" | "state" | "position" | "quality"> &
  Partial<LimitsDocument & Pick<ActuatorView, "value" | "read_at">>;

/** Whether the rules allow a word or degree; without rules everything is allowed. */
function isAllowed({ allowed, lock }: Partial<LimitsDocument>, command: Command): boolean {
  if (lock) return false;
  if (!allowed) return true;
  if (typeof command === "string") return allowed.words.includes(command);
  const { min, max } = allowed.degrees ?? { min: 1, max: 0 };
  return command >= min && command <= max;
}

/** A sent command, with the bridge's refusal if there was one. */
type Sent = Readonly<{ id: string; refusal?: CommandResult; error?: Sentence }>;

/** Sends a command. A refusal, which is a result too, comes with the answer; everything else by the live view. */
async function send(command: Readonly<Record<string, Command>>): Promise<Sent> {
  const id = newId();
  const { status, body } = await post<CommandResult>("api/commands", { ...command, id });
  if (status === 202) return { id };
  return status === 409 && body ? { id, refusal: body } : { id, error: errorSentence(body) };
}

type CardProps = Readonly<{ controller: ControllerView; id: string; of: Commandable }>;

/** An actuator or parameter: one line with its state, which opens to its commands. */
export function Card({ controller, id, of }: CardProps) {
  const isOpen = useSignal(false);
  const panel = useId();
  return (
    <article class={isOpen.value ? "card opened" : "card"} aria-label={of.name}>
      <h3>
        <Button
          class="line"
          aria-expanded={isOpen.value}
          aria-controls={panel}
          act={() => (isOpen.value = !isOpen.value)}
        >
          <span class="name">{of.name}</span>
          {isOpen.value ? null : <Signs of={of} />}
          {isActuator(of) && of.degrees ? <Opening of={of} /> : null}
          <State of={of} />
          <Icon name="chevron" />
        </Button>
      </h3>
      {isOpen.value ? (
        <div id={panel} class="panel">
          <Panel controller={controller} id={id} of={of} />
        </div>
      ) : null}
    </article>
  );
}

/** Its commands, the reasons against them, and the results. */
function Panel({ controller, id, of }: CardProps) {
  const choice = useSignal<Command | null>(null);
  const sent = useSignal<Sent | null>(null);
  const why = useId();
  const standing = standingReason(controller.availability, of);
  const target = { controller: controller.id, [isActuator(of) ? "actuator" : "parameter"]: id };
  const submit = async (command: Command, times: Readonly<Record<string, string>> = {}) => {
    choice.value = null;
    sent.value = null;
    sent.value = await send({ ...target, command, ...withoutEmpty(times) });
  };
  const sending: Sending = {
    choice,
    submit,
    isHeld: standing !== null,
    isStopHeld: stopReason(of) !== null,
  };
  // Reasons that hold for the whole page stand at its top.
  const told = actReason() === null ? standing : ownReason();
  const reasons = new Set([...(told === null ? [] : [told]), ...limitReasons(of, controller)]);
  return (
    <>
      <p class="meta">
        <Quality of={of.quality} /> <Age at={of.read_at} isOver />
        {of.lease ? <span>{leaseText(of.lease)}</span> : null}
        {isActuator(of) && of.run_time ? <span>{runText(of.run_time)}</span> : null}
      </p>
      <Reasons id={why} of={[...reasons]} isLimit={standing === null} />
      {isActuator(of) || of.writable ? (
        <div class="controls" role="group" aria-label={of.name} aria-describedby={why}>
          {isActuator(of) ? <Words of={of} {...sending} /> : <Amount of={of} {...sending} />}
          {isActuator(of) && of.degrees ? <Degree of={of} {...sending} /> : null}
          {choice.value === null ? null : <Confirm of={of} {...sending} />}
        </div>
      ) : null}
      <Said sent={sent.value} of={of} />
      {isActuator(of) && of.allowed ? <Keepers target={target} of={of} /> : null}
      <Past controller={controller.id} actuator={id} newest={of.result?.id} />
    </>
  );
}

const history = signal<ComponentType<HistoryProps> | null>(null);

/** The history of the actuator, loaded when it is opened. */
function Past(of: HistoryProps) {
  const isOpen = useSignal(false);
  const Shown = history.value;
  return (
    <details
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
        void import("./journal.js").then(({ History }) => (history.value = History));
      }}
    >
      <summary>{t("history")}</summary>
      {isOpen.value && Shown ? <Shown {...of} /> : null}
    </details>
  );
}

const runText = ({
  today_on_s: seconds,
  today_starts: count,
}: NonNullable<ActuatorView["run_time"]>): string =>
  seconds + count === 0
    ? t("not_run_today")
    : t("run_today", { time: lengthText(seconds - (seconds % 60) || seconds), count });

const leaseText = ({ ends_with: word, until }: NonNullable<ActuatorView["lease"]>): string =>
  t("lease", { word: commandText(word), time: clockText(until, now.value) });

type ReasonsProps = Readonly<{ id: string; of: readonly string[]; isLimit: boolean }>;

const Reasons = ({ id, of, isLimit }: ReasonsProps) => (
  <ul class="why" id={id}>
    {of.map((reason) => (
      <li key={reason} class={isLimit ? "notice warn" : "notice plain"}>
        <Icon name={isLimit ? "shield" : "lock"} /> <span>{reason}</span>
      </li>
    ))}
  </ul>
);

/** The state in the platform's words, never the requested one. */
function stateText({ state, position, value }: Choosable): string {
  if (!state) return "–";
  if (state === "position" && typeof position === "number") return `${position} %`;
  const word = wordLabel(state);
  return state === "unknown" && value ? `${word} ${t("raw", { value })}` : word;
}

/** Makes what is open or runs stand out from what rests and from automatic. */
function lookOf({ state, quality, position }: Choosable): string {
  if (!state || quality !== "good" || state === "unknown") return "warn";
  if (state === "auto") return "good";
  if (state === "mixed") return "plain";
  const rests = state === "closed" || state === "off" || (state === "position" && position === 0);
  return rests ? "plain" : "busy";
}

const iconOf = ({ state }: Choosable) => {
  const known = state?.replace(/^(?:all_on|fans?_.*|rotation)$/, "on").replace("position", "open") ?? "";
  return isIcon(known) ? <Icon name={known} /> : null;
};

function State({ of }: { readonly of: Commandable }) {
  if (!isActuator(of))
    return (
      <strong class="state">
        <Value value={of.value} unit={of.unit} />
      </strong>
    );
  return <Pill of={of} />;
}

export const Pill = ({ of }: { readonly of: Choosable }) => (
  <span class={`pill ${lookOf(of)}`}>
    {iconOf(of)}
    <strong class="state">{stateText(of)}</strong>
    {of.quality !== "good" && of.state && of.read_at ? <Age at={of.read_at} /> : null}
  </span>
);

/** The degree of opening as a bar; none if it is unknown. */
export function Opening({
  of: { state, position, quality },
}: {
  readonly of: Pick<Choosable, "state" | "position" | "quality">;
}) {
  const degree = state === "open" ? 100 : state === "closed" ? 0 : state === "position" ? position : null;
  return typeof degree === "number" ? (
    <svg
      class={quality === "good" ? "opening" : "opening old"}
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class="track" width="100" height="10" />
      <rect width={degree} height="10" />
    </svg>
  ) : null;
}

/** The signs of a line beside its state: an open command, a lock or hold, a lease, a bad end. */
function Signs({ of }: { readonly of: Commandable }) {
  const { command, lock, lease, allowed, result, quality } = of;
  const isUnderWay = command && command.phase !== "done";
  const hasBadEnd = result ? isBad(result.outcome) : false;
  const holds = allowed?.because.some(({ rule }) => rule !== "lock" && rule !== "read_only");
  return (
    <span class="signs">
      {isUnderWay ? <Badge kind="busy">{phaseText(command)}</Badge> : null}
      {hasBadEnd ? <Sign kind="bad" icon="bad" text={t("problem")} /> : null}
      {lock ? <Sign kind="warn" icon="lock" text={t("locked_by", { by: lock.by, times: "" })} /> : null}
      {holds ? <Sign kind="warn" icon="shield" text={t("limited")} /> : null}
      {lease ? <Sign kind="busy" icon="clock" text={leaseText(lease)} /> : null}
      {quality === "good" ? null : <Sign kind="warn" icon="stale" text={codeText(quality)} />}
    </span>
  );
}

type SignProps = Readonly<{
  kind: string;
  icon: "bad" | "lock" | "shield" | "clock" | "stale";
  text: string;
}>;

const Sign = ({ kind, icon, text }: SignProps) => (
  <span class={`sign ${kind}`} title={text}>
    <Icon name={icon} />
    <span class="unseen">{text}</span>
  </span>
);

export interface Sending {
  readonly choice: Signal<Command | null>;
  readonly submit: (command: Command, times?: Readonly<Record<string, string>>) => unknown;
  /** Nothing can be sent, except a stop unless `isStopHeld`. */
  readonly isHeld: boolean;
  readonly isStopHeld: boolean;
}
type SendingProps<Of> = Sending & { readonly of: Of };

/** Whether the platform shows what a command asks for. */
const isPresent = ({ state, position, quality }: Choosable, command: Command): boolean =>
  quality === "good" &&
  (typeof command === "number"
    ? state === "position" && position === command
    : state === (command === "close" ? "closed" : command));

type ChoiceButtonProps = Sending & Readonly<{ of: Choosable; command: Command }>;

/** Pressed if the platform shows it; framed if it is chosen and not sent yet. */
const ChoiceButton = ({ of, command, choice, isHeld }: ChoiceButtonProps) => (
  <Button
    class={choice.value === command ? "choice chosen" : "choice"}
    disabled={isHeld || !isAllowed(of, command)}
    aria-pressed={isPresent(of, command)}
    act={() => (choice.value = command)}
  >
    {commandText(command)}
  </Button>
);

/** Buttons for an actuator's words. All but the stop take two steps: choose, then send. */
export const Words = ({ of, ...sending }: SendingProps<Choosable>) => (
  <div class="buttons">
    {of.words.map((word) => (
      <ChoiceButton key={word} of={of} command={word} {...sending} />
    ))}
    {of.stop ? (
      <Button class="stop" disabled={sending.isStopHeld} act={() => sending.submit("stop")}>
        <Icon name="stop" />
        {commandText("stop")}
      </Button>
    ) : null}
  </div>
);

const usualDegrees = [0, 25, 50, 75, 100] as const;

/** A degree: typed, dragged, or one of the usual ones. */
export function Degree({ of, ...sending }: SendingProps<Choosable>) {
  const { choice, isHeld } = sending;
  const shown = of.state === "position" ? of.position : of.state === "open" ? 100 : 0;
  const degree = typeof choice.value === "number" ? choice.value : shown;
  const isOff = isHeld || Boolean(of.lock);
  return (
    <div class="degree">
      <Field
        label={t("opening")}
        type="number"
        inputMode="numeric"
        min={0}
        max={100}
        step={1}
        disabled={isOff}
        value={typeof choice.value === "number" ? choice.value : ""}
        placeholder={of.state === "position" ? String(of.position ?? "") : "–"}
        onInput={({ currentTarget: { value, valueAsNumber, validity } }) =>
          (choice.value = value !== "" && validity.valid ? valueAsNumber : null)
        }
      />
      <input
        type="range"
        min={0}
        max={100}
        step={1}
        disabled={isOff}
        aria-label={t("degree")}
        value={degree ?? 0}
        onInput={({ currentTarget }) => (choice.value = Number(currentTarget.value))}
      />
      <div class="buttons">
        {usualDegrees.map((one) => (
          <ChoiceButton key={one} of={of} command={one} {...sending} />
        ))}
      </div>
    </div>
  );
}

/** A number for a parameter. */
const Amount = ({ of: { writable, unit }, choice, isHeld }: SendingProps<ParameterView>) => (
  <Field
    {...writable}
    type="number"
    disabled={isHeld}
    label={`${writable?.min} – ${writable?.max} ${unit ?? ""}`}
    value={choice.value ?? ""}
    onInput={({ currentTarget: { value, valueAsNumber, validity } }) =>
      (choice.value = value !== "" && validity.valid ? valueAsNumber : null)
    }
  />
);

/** The second step, with how long the command lasts and keeps others off. */
function Confirm({ of, choice, submit, isHeld }: SendingProps<Commandable>) {
  const lasts = useSignal<Lasting>("");
  const holds = useSignal<Lasting>("");
  const chosen = choice.value ?? "";
  // A word that ends something cannot end by itself.
  const isEnd = isActuator(of) && isEnding(of.kind, String(chosen));
  const isOff = isHeld || !isAllowed(of, chosen);
  const what = isActuator(of) ? commandText(chosen) : `${chosen} ${of.unit ?? ""}`.trim();
  const times = () => ({ for: isEnd ? "" : lasts.value, hold: holds.value });
  // Automatic goes on, whatever is configured.
  const isTimed = isActuator(of) && !isEnd && chosen !== "auto" && timedGroups.has(of.group);
  return (
    <div class="confirm">
      {isTimed ? (
        <Length
          name={of.name}
          of={of}
          what={what}
          isOff={isOff}
          act={(time) => submit(chosen, { ...times(), for: time })}
        />
      ) : (
        <Button class="primary" disabled={isOff} act={() => submit(chosen, times())}>
          {t("send", { what, name: of.name })}
        </Button>
      )}
      <Button act={() => (choice.value = null)}>{t("cancel")}</Button>
      {isActuator(of) ? (
        <details>
          <summary>{t("term")}</summary>
          <div class="bar">
            {isEnd || isTimed ? null : (
              <LastingChoice
                word="term_for"
                value={lasts}
                none={unnamedText(of, chosen)}
                most={of.at_most_s}
              />
            )}
            <LastingChoice word="term_hold" value={holds} />
          </div>
        </details>
      ) : null}
    </div>
  );
}

/** What happens if no time is named. */
function unnamedText(of: ActuatorView, chosen: Command): string {
  const configured = chosen === "auto" ? null : configuredSeconds(of);
  return configured === null ? "–" : t("as_configured", { time: lengthText(configured) });
}

/** Groups that are mostly used for a time: water, heat, mist, CO2 and light. */
const timedGroups: ReadonlySet<string> = new Set(["water", "climate", "light"]);
type KeepersProps = Readonly<{ target: object; of: ActuatorView }>;

/** Sets and removes lock and hold, which keep others from all commands but a stop. */
function Keepers({ target, of: { lock, allowed } }: KeepersProps) {
  const reason = useSignal("");
  const until = useSignal<Lasting>("");
  if (actReason() !== null) return null;
  const name = lock ? "unlock" : "lock";
  const isOthers = Boolean(lock) && lock?.by !== session.value?.user;
  const label = isOthers ? t("unlock_others", { by: lock?.by ?? "" }) : t(name);
  const how = lock ? { force: isOthers } : withoutEmpty({ reason: reason.value, until: until.value });
  const isHeld = allowed?.because.some(({ rule }) => rule === "hold") === true;
  return (
    <div class="keepers">
      {isHeld ? <Asking label={t("release")} name="release" fields={target} /> : null}
      <details>
        <summary>
          <Icon name="lock" /> {t(name)}
        </summary>
        <div class="bar">
          {lock ? null : <Field label={t("lock_reason")} bound={reason} />}
          {lock ? null : <LastingChoice word="lock_until" value={until} />}
          <Asking label={label} name={name} fields={{ ...target, ...how }} />
        </div>
      </details>
    </div>
  );
}

/** The open command and the last result. Only results of this page are read out. */
function Said({ sent, of: { command, result } }: Readonly<{ sent: Sent | null; of: Commandable }>) {
  const { id, refusal, error } = sent ?? {};
  const own = refusal ?? (id !== undefined && result?.id === id ? result : null);
  return (
    <div class="said">
      {command && command.phase !== "done" ? (
        <p>
          <Badge kind="busy">{phaseText(command)}</Badge> <By of={command.by} />
        </p>
      ) : null}
      <div role="status" aria-live="polite">
        {error ? (
          <p class="refusal">
            <Says of={[error]} />
          </p>
        ) : null}
        {own && !error ? <ResultText result={own} /> : null}
      </div>
      {!own && !error && result ? <ResultText result={result} /> : null}
    </div>
  );
}

/** A result as a sentence, with what to do. */
const ResultText = ({ result }: { readonly result: CommandResult }) => (
  <p class="result">
    <Code of={result.outcome} /> <strong>{commandText(result.command)}</strong>{" "}
    <Says of={resultSentences(result)} /> <By of={result.by} /> <Age at={result.finished_at} />
  </p>
);
