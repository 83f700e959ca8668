import { type Signal, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { wordLabel } from "../greenhouse/labels.js";
import { endingWords } from "../greenhouse/limits.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { bridge, given, newId, now, post, session } from "./live.js";
import { actReason, Asking, Button, Field, type Lasting, LastingChoice } from "./inputs.js";
import { Age, Badge, By, Code, Icon, Quality, Says, Value } from "./parts.js";
import type { ActuatorView, ControllerView, LimitsDocument, ParameterView } from "./protocol.js";
import { errorSentence, limitReasons, phaseText, resultSentences, type Sentence } from "./sentences.js";
import { commandText, language, t, timeText } from "./words.js";

type Command = string | number;
/** Nothing limits a parameter. */
export type Commandable = (ActuatorView | ParameterView) & Partial<LimitsDocument>;

const isActuator = (one: Commandable): one is ActuatorView => "words" in one;

/** Why nothing at all can be sent now; null where something can. */
function standingReason(availability: string, of: Commandable): string | null {
  const reason = actReason();
  if (reason !== null) return reason;
  if (bridge.value?.read_only) return t("rule_read_only");
  if (isActuator(of) && of.read_only) return t("why_actuator");
  if (availability === "offline") return t("why_offline");
  return bridge.value?.platform === "unreachable" ? t("why_platform") : null;
}

/** Whether the rules let a word or degree through; without rules they let everything. */
function isAllowed({ allowed, lock }: Partial<LimitsDocument>, command: Command): boolean {
  if (lock) return false;
  if (!allowed) return true;
  if (typeof command === "string") return allowed.words.includes(command);
  const { min, max } = allowed.degrees ?? { min: 1, max: 0 };
  return command >= min && command <= max;
}

/** What was sent, and how the bridge refused it, if it did. */
type Sent = Readonly<{ id: string; refusal?: CommandResult; error?: Sentence }>;

/** Sends a command; what becomes of it is told by the live view, a refusal by the answer: a result like any other. */
async function send(command: Readonly<Record<string, Command>>): Promise<Sent> {
  const id = newId();
  const { status, body } = await post<CommandResult>("api/commands", { ...command, id });
  if (status === 202) return { id };
  return status === 409 && body ? { id, refusal: body } : { id, error: errorSentence(body) };
}

type CardProps = Readonly<{ controller: ControllerView; id: string; of: Commandable }>;

/** An actuator or a parameter: what the platform shows of it, what can be sent to it, and what became of that. */
export function Card({ controller, id, of }: CardProps) {
  const choice = useSignal<Command | null>(null);
  const sent = useSignal<Sent | null>(null);
  const why = useId();
  const standing = standingReason(controller.availability, of);
  const target = { controller: controller.id, [isActuator(of) ? "actuator" : "parameter"]: id };
  const submit = async (command: Command, terms: Readonly<Record<string, string>> = {}) => {
    choice.value = null;
    sent.value = null;
    sent.value = await send({ ...target, command, ...given(terms) });
  };
  const sending: Sending = { choice, submit, isHeld: standing !== null };
  const reasons = standing === null ? limitReasons(of) : [standing];
  return (
    <article class="card" aria-label={of.name}>
      <State of={of} />
      {isActuator(of) || of.writable ? (
        <div class="controls" role="group" aria-label={of.name} aria-describedby={why}>
          {isActuator(of) ? <Words of={of} {...sending} /> : <Amount of={of} {...sending} />}
          {isActuator(of) && of.degrees ? <Degree of={of} {...sending} /> : null}
          {choice.value === null ? null : <Confirm of={of} {...sending} />}
          <ul class="why" id={why}>
            {reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
          <Said sent={sent.value} of={of} />
        </div>
      ) : null}
      {isActuator(of) && of.allowed ? <Keepers target={target} of={of} /> : null}
    </article>
  );
}

/** The state in the platform's words, never the wished one. */
function stateText({ state, position, value }: ActuatorView): string {
  if (!state) return "–";
  if (state === "position" && typeof position === "number") return `${position} %`;
  const word = wordLabel(language.value, state);
  return state === "unknown" && value ? `${word} ${t("raw", { value })}` : word;
}

/** Name, state, how good and old that is, and when it ends by itself. */
const State = ({ of }: { readonly of: Commandable }) => (
  <>
    <div class="head">
      <h3>{of.name}</h3>
      <strong class="state">
        {isActuator(of) ? stateText(of) : <Value value={of.value} unit={of.unit} />}
      </strong>
      <span class="meta">
        <Quality of={of.quality} /> <Age at={of.read_at} />
      </span>
    </div>
    {of.lease ? (
      <p>
        {t("lease", { word: commandText(of.lease.ends_with), time: timeText(of.lease.until, now.value) })}
      </p>
    ) : null}
  </>
);

interface Sending {
  readonly choice: Signal<Command | null>;
  readonly submit: (command: Command, terms?: Readonly<Record<string, string>>) => unknown;
  /** Nothing at all can be sent. */
  readonly isHeld: boolean;
}
type SendingProps<Of> = Sending & { readonly of: Of };

/** Buttons for what an actuator takes. Two steps for all but a stop: choose, then send. */
const Words = ({ of, choice, submit, isHeld }: SendingProps<ActuatorView>) => (
  <div class="buttons">
    {of.words.map((word) => (
      <Button
        key={word}
        disabled={isHeld || !isAllowed(of, word)}
        aria-pressed={choice.value === word}
        act={() => (choice.value = word)}
      >
        {commandText(word)}
      </Button>
    ))}
    {of.stop ? (
      <Button class="stop" disabled={isHeld} act={() => submit("stop")}>
        <Icon name="stop" />
        {commandText("stop")}
      </Button>
    ) : null}
  </div>
);

function Degree({ of: { position, state, lock }, choice, isHeld }: SendingProps<ActuatorView>) {
  const degree = typeof choice.value === "number" ? choice.value : position;
  return (
    <label class="degree">
      <span>
        {t("degree")} <output>{typeof degree === "number" ? `${degree} %` : "–"}</output>
      </span>
      <input
        {...{ type: "range", min: 0, max: 100, step: 1, disabled: isHeld || Boolean(lock) }}
        value={degree ?? (state === "open" ? 100 : 0)}
        onInput={({ currentTarget }) => (choice.value = Number(currentTarget.value))}
      />
    </label>
  );
}

/** A number for a parameter. */
const Amount = ({ of: { writable, unit }, choice, isHeld }: SendingProps<ParameterView>) => (
  <Field
    {...{ ...writable, type: "number", disabled: isHeld }}
    label={`${writable?.min} – ${writable?.max} ${unit ?? ""}`}
    value={choice.value ?? ""}
    onInput={({ currentTarget: { value, valueAsNumber, validity } }) =>
      (choice.value = value !== "" && validity.valid ? valueAsNumber : null)
    }
  />
);

/** The second step, with how long it is to last and to keep others off. */
function Confirm({ of, choice, submit, isHeld }: SendingProps<Commandable>) {
  const [lasts, holds] = [useSignal<Lasting>(""), useSignal<Lasting>("")];
  const chosen = choice.value ?? "";
  // What ends something cannot end by itself.
  const isEnd = endingWords.has(chosen);
  const isOff = isHeld || !isAllowed(of, chosen);
  const what = isActuator(of) ? commandText(chosen) : `${chosen} ${of.unit ?? ""}`.trim();
  const terms = () => ({ for: isEnd ? "" : lasts.value, hold: holds.value });
  return (
    <div class="confirm">
      <Button class="primary" disabled={isOff} act={() => submit(chosen, terms())}>
        {t("send", { what, name: of.name })}
      </Button>
      <Button act={() => (choice.value = null)}>{t("cancel")}</Button>
      {isActuator(of) ? (
        <details>
          <summary>{t("term")}</summary>
          <div class="bar">
            {isEnd ? null : <LastingChoice word="term_for" value={lasts} />}
            <LastingChoice word="term_hold" value={holds} />
          </div>
        </details>
      ) : null}
    </div>
  );
}

type KeepersProps = Readonly<{ target: object; of: ActuatorView }>;

/** Lock and hold keep others from commanding but for a stop; here they are set and taken away. */
function Keepers({ target, of: { lock, allowed } }: KeepersProps) {
  const [reason, until] = [useSignal(""), useSignal<Lasting>("")];
  if (actReason() !== null) return null;
  const name = lock ? "unlock" : "lock";
  const isOthers = Boolean(lock) && lock?.by !== session.value?.user;
  const label = isOthers ? t("unlock_others", { by: lock?.by ?? "" }) : t(name);
  const terms = lock ? { force: isOthers } : given({ reason: reason.value, until: until.value });
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
          <Asking label={label} name={name} fields={{ ...target, ...terms }} />
        </div>
      </details>
    </div>
  );
}

/** The command under way and the last result. Only what this page sent is read out. */
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

/** A result as a sentence with what to do. */
const ResultText = ({ result }: { readonly result: CommandResult }) => (
  <p class="result">
    <Code of={result.outcome} /> <strong>{commandText(result.command)}</strong>{" "}
    <Says of={resultSentences(result)} /> <By of={result.by} /> <Age at={result.finished_at} />
  </p>
);
