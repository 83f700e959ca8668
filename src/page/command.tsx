import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { bridge, isOperator, newId, now, post, session, silentSince } from "./live.js";
import { Age, Badge, Icon, Outcome } from "./parts.js";
import type { ActuatorView, CommandDocument, LimitsDocument } from "./protocol.js";
import { commandText, isWord, t, timeText } from "./words.js";

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
function standingReason(target: Target, isReadOnly: boolean): string | null {
  if (silentSince.value !== null) return t("why_silent");
  if (!isOperator.value) return t(session.value?.user ? "why_role" : "anonymous");
  if (bridge.value?.read_only) return t("why_read_only");
  if (isReadOnly) return t("why_actuator");
  if (target.availability === "offline") return t("why_offline");
  if (bridge.value?.platform === "unreachable") return t("why_platform");
  return null;
}

const moment = (at: string) => timeText(at, now.value);

/** What rules, a lock and a lease make of it, in sentences. */
function limitReasons({ allowed, lock }: Partial<LimitsDocument>): readonly string[] {
  const locked = lock
    ? [
        t(lock.until ? "why_lock_until" : "why_lock", {
          ...{ by: lock.by, reason: lock.reason ?? "–" },
          time: lock.until ? moment(lock.until) : "",
        }),
      ]
    : [];
  const kept = (allowed?.because ?? []).map(({ rule, input, value, limit, until }) => {
    const values = { rule, input: input ?? "", value: String(value ?? "–"), limit: String(limit ?? "–") };
    const why = t(input ? "why_rule" : "why_rule_bare", values);
    return until ? `${why} ${t("why_until", { time: moment(until) })}` : why;
  });
  return [...locked, ...kept];
}

/** Whether the rules let a word or degree through; without rules they let everything. */
function isAllowed({ allowed, lock }: Partial<LimitsDocument>, command: string | number): boolean {
  if (lock) return false;
  if (!allowed) return true;
  if (typeof command === "string") return allowed.words.includes(command);
  const { min, max } = allowed.degrees ?? { min: 1, max: 0 };
  return command >= min && command <= max;
}

interface Sent {
  readonly id: string;
  readonly said: string | null;
}

/** Sends a command; what becomes of it is told by the live view, a refusal by the answer. */
async function send({ controller, target, id: targetId }: Target, command: string | number): Promise<Sent> {
  const id = newId();
  const body = { controller, [target]: targetId, command, id };
  const { status, body: answer } = await post<Partial<CommandResult>>("api/commands", body);
  if (status === 202) return { id, said: null };
  if (status === 409) return { id, said: `${t("refused")}: ${answer?.message ?? ""}` };
  return { id, said: answer?.message ?? t("not_sent") };
}

/** A request in the name of who is logged in; the answer is why it did not work. */
export async function request(name: string, fields: object): Promise<string | null> {
  const { status, body } = await post(`api/requests/${name}`, { ...fields, by: session.value?.user });
  return status === 200 ? null : t("failed_request", { message: body?.error ?? "" });
}

/** A lock keeps everybody from commanding but for a stop, until somebody takes it away. */
export function Lock({ target, lock }: { readonly target: Target; readonly lock: ActuatorView["lock"] }) {
  const reason = useSignal("");
  const said = useSignal<string | null>(null);
  if (!isOperator.value || silentSince.value !== null) return null;
  const about = { controller: target.controller, actuator: target.id };
  const change = async () => {
    const locking = reason.value === "" ? about : { ...about, reason: reason.value };
    said.value = await (lock ? request("unlock", about) : request("lock", locking));
  };
  return (
    <details class="lock">
      <summary>{t(lock ? "unlock" : "lock")}</summary>
      <div class="bar">
        {lock ? null : (
          <label class="field">
            <span>{t("lock_reason")}</span>
            <input value={reason} onInput={({ currentTarget }) => (reason.value = currentTarget.value)} />
          </label>
        )}
        <button type="button" onClick={() => void change()}>
          <Icon name="lock" /> {t(lock ? "unlock" : "lock")}
        </button>
      </div>
      <p role="alert" class="refusal">
        {said}
      </p>
    </details>
  );
}

interface ControlsProps {
  readonly target: Target;
  readonly actuator: ActuatorView;
}

/** Buttons for what an actuator takes. Two steps for all but a stop: choose, then send. */
export function Controls({ target, actuator }: ControlsProps) {
  const choice = useSignal<string | number | null>(null);
  const degree = typeof choice.value === "number" ? choice.value : actuator.position;
  const sent = useSignal<Sent | null>(null);
  const why = useId();
  const standing = standingReason(target, actuator.read_only);
  const isOff = (command: string | number) => standing !== null || !isAllowed(actuator, command);
  const submit = async (command: string | number) => {
    choice.value = null;
    sent.value = null;
    sent.value = await send(target, command);
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
        <label class="degree">
          <span>
            {t("degree")} <output>{typeof degree === "number" ? `${degree} %` : "–"}</output>
          </span>
          <input
            type="range"
            {...{ min: 0, max: 100, step: 1 }}
            value={degree ?? (actuator.state === "open" ? 100 : 0)}
            disabled={standing !== null || Boolean(actuator.lock)}
            onInput={({ currentTarget }) => (choice.value = Number(currentTarget.value))}
          />
        </label>
      ) : null}
      {choice.value === null ? null : (
        <Confirm
          target={target}
          choice={choice.value}
          isOff={isOff(choice.value)}
          onSend={submit}
          onCancel={() => (choice.value = null)}
        />
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

interface ConfirmProps {
  readonly target: Target;
  readonly choice: string | number;
  readonly isOff: boolean;
  readonly onSend: (command: string | number) => Promise<void>;
  readonly onCancel: () => void;
}

/** The second step. */
export function Confirm({ target, choice, isOff, onSend, onCancel }: ConfirmProps) {
  const what = target.target === "parameter" ? `${choice} ${target.unit ?? ""}`.trim() : commandText(choice);
  return (
    <div class="confirm">
      <button type="button" class="primary" disabled={isOff} onClick={() => void onSend(choice)}>
        {t("send", { what, name: target.name })}
      </button>
      <button type="button" onClick={onCancel}>
        {t("cancel")}
      </button>
    </div>
  );
}

interface SaidProps {
  readonly sent: Sent | null;
  readonly command: CommandDocument | null | undefined;
  readonly result: CommandResult | null | undefined;
}

/** The command under way and the last result. Only what this page sent is read out. */
export function Said({ sent, command, result }: SaidProps) {
  const isRunning = command !== null && command !== undefined && command.phase !== "done";
  const isOwn = sent !== null && (result?.id === sent.id || sent.said !== null);
  return (
    <div class="said">
      {isRunning ? (
        <p>
          <Badge kind="busy">
            {t("phase", { command: commandText(command.command), phase: t(command.phase) })}
          </Badge>{" "}
          {command.by ? <small>{t("by", { by: command.by })}</small> : null}
        </p>
      ) : null}
      <div role="status" aria-live="polite">
        {sent?.said ? (
          <p class="refusal">{sent.said}</p>
        ) : isOwn && result ? (
          <ResultText result={result} />
        ) : null}
      </div>
      {!isOwn && result ? <ResultText result={result} /> : null}
    </div>
  );
}

/** A result as a sentence with what to do. */
function ResultText({ result }: { readonly result: CommandResult }) {
  const { outcome, command, message, by, finished_at: at } = result;
  const did = `did_${outcome}`;
  return (
    <p class="result">
      <Outcome of={outcome} /> <strong>{commandText(command)}</strong>{" "}
      {message ?? (isWord(did) ? t(did) : "")}{" "}
      <small>
        {by ? `${t("by", { by })} · ` : ""}
        <Age at={at} />
      </small>
    </p>
  );
}
