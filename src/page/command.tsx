import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { bridge, isOperator, newId, post, session, silentSince } from "./live.js";
import {
  Acting,
  Age,
  Alert,
  Badge,
  Field,
  Icon,
  type Lasting,
  LastingChoice,
  Outcome,
  roleReason,
  Says,
} from "./parts.js";
import type { ActuatorView, CommandDocument, LimitsDocument } from "./protocol.js";
import { errorSentence, limitReasons, resultSentences, type Sentence, whoText } from "./sentences.js";
import { commandText, t, told } from "./words.js";

/** What a command is for. */
export interface Target {
  readonly controller: string;
  readonly availability: string;
  readonly target: "actuator" | "parameter";
  readonly id: string;
  readonly name: string;
  readonly unit?: string | null;
}

/** Why nothing at all can be sent now; null where something can. */
export function standingReason(target: Target, isReadOnly: boolean): string | null {
  if (silentSince.value !== null) return t("why_silent");
  if (!isOperator.value) return roleReason();
  if (bridge.value?.read_only) return t("why_read_only");
  if (isReadOnly) return t("why_actuator");
  if (target.availability === "offline") return t("why_offline");
  if (bridge.value?.platform === "unreachable") return t("why_platform");
  return null;
}

/** Whether the rules let a word or degree through; without rules they let everything. */
function isAllowed({ allowed, lock }: Partial<LimitsDocument>, command: string | number): boolean {
  if (lock) return false;
  if (!allowed) return true;
  if (typeof command === "string") return allowed.words.includes(command);
  const { min, max } = allowed.degrees ?? { min: 1, max: 0 };
  return command >= min && command <= max;
}

/** Words that end something, and so cannot end by themselves; the local controller ends what it does itself. */
const endings: ReadonlySet<string | number> = new Set(["off", "close", "auto", "stop"]);

/** What was sent, and how the bridge refused it, if it did. */
export type Sent = Readonly<{ id: string; refusal?: CommandResult; error?: Sentence }>;

/** How long it is to last, and to keep others off. */
type Terms = Readonly<{ for?: Lasting; hold?: Lasting }>;

/** Sends a command; what becomes of it is told by the live view, a refusal by the answer. */
export async function send(
  { controller, target, id: targetId }: Target,
  command: string | number,
  terms: Terms = {},
): Promise<Sent> {
  const id = newId();
  const given = Object.fromEntries(Object.entries(terms).filter(([, term]) => term !== ""));
  const body = { controller, [target]: targetId, command, id, ...given };
  const { status, body: answer } = await post<Partial<CommandResult>>("api/commands", body);
  if (status === 202) return { id };
  // The refusal is a result like any other.
  if (status === 409 && answer?.outcome) return { id, refusal: answer as CommandResult };
  return { id, error: errorSentence(answer) };
}

/** A request in the name of who is logged in; the answer is why it did not work. */
export async function request(name: string, fields: object): Promise<Sentence | null> {
  const { status, body } = await post(`api/requests/${name}`, { ...fields, by: session.value?.user });
  return status === 200 ? null : errorSentence(body);
}

type ControlsProps = Readonly<{ target: Target; actuator: ActuatorView }>;

/** Lock and hold keep others from commanding but for a stop; here they are set and taken away. */
export function Keepers({ target, actuator: { lock, allowed } }: ControlsProps) {
  const reason = useSignal("");
  const until = useSignal<Lasting>("");
  const said = useSignal<Sentence | null>(null);
  if (!isOperator.value || silentSince.value !== null) return null;
  const about = { controller: target.controller, actuator: target.id };
  const ask = async (name: string, more: Readonly<Record<string, unknown>> = {}) => {
    const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== ""));
    said.value = await request(name, { ...about, ...given });
  };
  const locking = { reason: reason.value, until: until.value };
  const isOthers = Boolean(lock) && lock?.by !== session.value?.user;
  const isHeld = allowed?.because.some(({ rule }) => rule === "hold") === true;
  return (
    <div class="keepers">
      {isHeld ? <Acting label={t("release")} act={() => ask("release")} /> : null}
      <details>
        <summary>
          <Icon name="lock" /> {t(lock ? "unlock" : "lock")}
        </summary>
        <div class="bar">
          {lock ? null : (
            <>
              <Field label={t("lock_reason")} bound={reason} />
              <LastingChoice word="lock_until" value={until} />
            </>
          )}
          <Acting
            label={isOthers ? t("unlock_others", { by: lock?.by ?? "" }) : t(lock ? "unlock" : "lock")}
            act={() => (lock ? ask("unlock", { force: isOthers }) : ask("lock", locking))}
          />
        </div>
      </details>
      <Alert said={said} />
    </div>
  );
}

/** Buttons for what an actuator takes. Two steps for all but a stop: choose, then send. */
export function Controls({ target, actuator }: ControlsProps) {
  const choice = useSignal<string | number | null>(null);
  const sent = useSignal<Sent | null>(null);
  const terms = { for: useSignal<Lasting>(""), hold: useSignal<Lasting>("") };
  const why = useId();
  const standing = standingReason(target, actuator.read_only);
  const isOff = (command: string | number) => standing !== null || !isAllowed(actuator, command);
  const submit = async (command: string | number) => {
    const given = {
      for: endings.has(command) ? "" : terms.for.value,
      hold: command === "stop" ? "" : terms.hold.value,
    } as const;
    choice.value = null;
    sent.value = null;
    sent.value = await send(target, command, given);
    for (const term of [terms.for, terms.hold]) term.value = "";
  };
  const reasons = standing === null ? limitReasons(actuator) : [standing];
  return (
    <div class="controls">
      <div
        class="buttons"
        role="group"
        aria-label={target.name}
        aria-describedby={reasons.length > 0 ? why : undefined}
      >
        {actuator.words.map((word) => (
          <button
            key={word}
            type="button"
            disabled={isOff(word)}
            aria-pressed={choice.value === word}
            onClick={() => (choice.value = word)}
          >
            {commandText(word)}
          </button>
        ))}
        {actuator.stop ? (
          <button type="button" class="stop" disabled={standing !== null} onClick={() => void submit("stop")}>
            <Icon name="stop" />
            {t("stop")}
          </button>
        ) : null}
      </div>
      {actuator.degrees ? (
        <Degree {...{ actuator, choice }} isOff={standing !== null || Boolean(actuator.lock)} />
      ) : null}
      {choice.value === null ? null : (
        <Confirm {...{ target, choice }} isOff={isOff(choice.value)} onSend={submit}>
          <details>
            <summary>{t("term")}</summary>
            <div class="bar">
              {!endings.has(choice.value) ? <LastingChoice word="term_for" value={terms.for} /> : null}
              <LastingChoice word="term_hold" value={terms.hold} />
            </div>
          </details>
        </Confirm>
      )}
      {reasons.length > 0 ? (
        <ul class="why" id={why}>
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      ) : null}
      <Said sent={sent.value} command={actuator.command} result={actuator.result} />
    </div>
  );
}

type DegreeProps = Readonly<{
  actuator: ActuatorView;
  choice: Signal<string | number | null>;
  isOff: boolean;
}>;

function Degree({ actuator: { position, state }, choice, isOff }: DegreeProps) {
  const degree = typeof choice.value === "number" ? choice.value : position;
  return (
    <label class="degree">
      <span>
        {t("degree")} <output>{typeof degree === "number" ? `${degree} %` : "–"}</output>
      </span>
      <input
        {...{ type: "range", min: 0, max: 100, step: 1, disabled: isOff }}
        value={degree ?? (state === "open" ? 100 : 0)}
        onInput={({ currentTarget }) => (choice.value = Number(currentTarget.value))}
      />
    </label>
  );
}

interface ConfirmProps {
  readonly target: Target;
  readonly choice: Signal<string | number | null>;
  readonly isOff: boolean;
  readonly onSend: (command: string | number) => Promise<void>;
  readonly children?: ComponentChildren;
}

/** The second step. */
export function Confirm({ target, choice, isOff, onSend, children }: ConfirmProps) {
  const chosen = choice.value ?? "";
  const what = target.target === "parameter" ? `${chosen} ${target.unit ?? ""}`.trim() : commandText(chosen);
  return (
    <div class="confirm">
      <button type="button" class="primary" disabled={isOff} onClick={() => void onSend(chosen)}>
        {t("send", { what, name: target.name })}
      </button>
      <button type="button" onClick={() => (choice.value = null)}>
        {t("cancel")}
      </button>
      {children}
    </div>
  );
}

type SaidProps = Readonly<{
  sent: Sent | null;
  command: CommandDocument | null | undefined;
  result: CommandResult | null | undefined;
}>;

/** The command under way and the last result. Only what this page sent is read out. */
export function Said({ sent, command, result }: SaidProps) {
  const isRunning = command !== null && command !== undefined && command.phase !== "done";
  const { id, refusal, error } = sent ?? {};
  const own = refusal ?? (id !== undefined && result?.id === id ? result : null);
  return (
    <div class="said">
      {isRunning ? (
        <p>
          <Badge kind="busy">
            {t("phase", { command: commandText(command.command), phase: told(command.phase) })}
          </Badge>{" "}
          {command.by ? <small>{t("by", { by: whoText(command.by) })}</small> : null}
        </p>
      ) : null}
      <div role="status" aria-live="polite">
        {error ? (
          <p class="refusal">
            <Says of={[error]} />
          </p>
        ) : own ? (
          <ResultText result={own} />
        ) : null}
      </div>
      {!own && !error && result ? <ResultText result={result} /> : null}
    </div>
  );
}

/** A result as a sentence with what to do. */
function ResultText({ result }: { readonly result: CommandResult }) {
  const { outcome, command, by, finished_at: at } = result;
  return (
    <p class="result">
      <Outcome of={outcome} /> <strong>{commandText(command)}</strong> <Says of={resultSentences(result)} />
      <small>
        {by ? `${t("by", { by: whoText(by) })} · ` : ""}
        <Age at={at} />
      </small>
    </p>
  );
}
