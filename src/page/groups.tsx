import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { GroupResult } from "../greenhouse/groups.js";
import { type Choosable, type Command, Degree, Opening, Pill, type Sending, Words } from "./command.js";
import { actReason, Asking, Button, Locking, ownReason } from "./inputs.js";
import { bridge, link, newId, post, session, view } from "./live.js";
import { Age, Badge, By, Code, Icon, Quality, Says, Section } from "./parts.js";
import type { GroupView, MemberView, GroupsAndScenesView } from "./protocol.js";
import { errorSentence, resultSentences, type Sentence } from "./sentences.js";
import { commandText, stateWordText, t } from "./words.js";

/* Groups and scenes: commands to several actuators, with each one's result. */

const groupsAndScenes = view<GroupsAndScenesView>("groups");

export function GroupsSection() {
  const all = groupsAndScenes.value;
  if (all === null) return null;
  const { groups, scenes } = all;
  return (
    <Section name={t("groups_and_scenes")} of={{ ...groups, ...scenes }}>
      <div class="groups">
        {Object.entries(groups).map(([id, group]) => (
          <GroupCard key={id} id={id} group={group} />
        ))}
        {Object.entries(scenes).map(([id, scene]) => (
          <SceneCard key={id} id={id} scene={scene} />
        ))}
      </div>
    </Section>
  );
}

type Shared = Pick<GroupView, "name" | "members" | "running" | "result">;
type Sent = Readonly<{ id: string; error?: Sentence }>;

/** Sends a command to several; results come by the live view. */
async function send(body: Readonly<Record<string, Command>>): Promise<Sent> {
  const id = newId();
  const { status, body: answer } = await post<GroupResult>("api/commands", { ...body, id });
  if (status === 202 || status === 409) return { id };
  return { id, error: errorSentence(answer) };
}

const standingReason = (): string | null =>
  actReason() ?? (bridge.value?.read_only ? t("rule_read_only") : null);

/** Reasons that hold for the whole page stand at its top. */
function Standing() {
  const told = actReason() === null ? standingReason() : ownReason();
  return told === null ? null : <p class="why">{told}</p>;
}

type LineProps = Readonly<{ of: Shared; sign: ComponentChildren; children: ComponentChildren }>;

/** A line that opens to the members, the commands and the results. */
function GroupsAndScenes({ of, sign, children }: LineProps) {
  const isOpen = useSignal(false);
  const { name, members, running } = of;
  return (
    <article class={isOpen.value ? "card opened" : "card"} aria-label={name}>
      <h3>
        <Button class="line" aria-expanded={isOpen.value} act={() => (isOpen.value = !isOpen.value)}>
          <span class="name">{name}</span>
          {running ? (
            <Badge kind="busy">{t("ended_of", { ended: running.ended, count: members.length })}</Badge>
          ) : null}
          {sign}
          <Icon name="chevron" />
        </Button>
      </h3>
      {isOpen.value ? (
        <div class="panel">
          <ul class="members">
            {members.map((member) => (
              <MemberLine key={`${member.controller}/${member.actuator}`} of={member} />
            ))}
          </ul>
          {children}
        </div>
      ) : null}
    </article>
  );
}

const memberState = ({ state, position }: MemberView): string =>
  state
    ? stateWordText(state === "position" && typeof position === "number" ? String(position) : state)
    : "–";

const MemberLine = ({ of }: Readonly<{ of: MemberView }>) => (
  <li>
    <a href={link(`controller/${encodeURIComponent(of.controller)}`)}>{of.name}</a>
    {of.locked_by ? <Badge kind="warn">{t("locked_by", { by: of.locked_by, times: "" })}</Badge> : null}
    {of.command ? <Badge kind="busy">{commandText(of.command)}</Badge> : null}
    <span>
      {memberState(of)} {of.quality === "good" ? null : <Quality of={of.quality} />}{" "}
      {of.quality !== "good" && of.state ? <Age at={of.read_at} isOver /> : null}
    </span>
  </li>
);

function GroupCard({ id, group }: Readonly<{ id: string; group: GroupView }>) {
  const choice = useSignal<Command | null>(null);
  const sent = useSignal<Sent | null>(null);
  const standing = standingReason();
  const submit = async (command: Command) => {
    choice.value = null;
    sent.value = null;
    sent.value = await send({ group: id, command });
  };
  const sending: Sending = { choice, submit, isHeld: standing !== null, isStopHeld: standing !== null };
  const of: Choosable = { ...group, value: undefined };
  return (
    <GroupsAndScenes
      of={group}
      sign={
        <>
          {group.degrees ? <Opening of={group} /> : null}
          <Pill of={of} />
        </>
      }
    >
      <Standing />
      <div class="controls" role="group" aria-label={group.name}>
        <Words of={of} {...sending} />
        {group.degrees ? <Degree of={of} {...sending} /> : null}
        {choice.value === null ? null : (
          <div class="confirm">
            <Button class="primary" disabled={standing !== null} act={() => submit(choice.value ?? "")}>
              {t("send_all", { what: commandText(choice.value), count: group.members.length })}
            </Button>
            <Button act={() => (choice.value = null)}>{t("cancel")}</Button>
          </div>
        )}
      </div>
      <HowItWent of={group} sent={sent.value} />
      <GroupLock of={group} />
    </GroupsAndScenes>
  );
}

/** A group is locked by locking each member, so that one can be unlocked alone. */
function GroupLock({ of: { members } }: Readonly<{ of: GroupView }>) {
  if (actReason() !== null) return null;
  const target = ({ controller, actuator }: MemberView) => ({ controller, actuator });
  const free = members.filter(({ locked_by: by }) => !by);
  const mine = members.filter(({ locked_by: by }) => by && by === session.value?.user);
  return (
    <div class="keepers">
      {free.length === 0 ? null : (
        <Locking label={t("lock_all", { count: free.length })} each={free.map(target)} />
      )}
      {mine.length === 0 ? null : (
        <Asking label={t("unlock_mine")} name="unlock" fields={{}} each={mine.map(target)} />
      )}
    </div>
  );
}

function SceneCard({ id, scene }: Readonly<{ id: string; scene: Shared }>) {
  const sent = useSignal<Sent | null>(null);
  const standing = standingReason();
  const submit = async () => {
    sent.value = null;
    sent.value = await send({ scene: id });
  };
  return (
    <GroupsAndScenes of={scene} sign={<Badge kind="plain">{t("scene")}</Badge>}>
      <Standing />
      <div class="controls">
        <Button class="primary" disabled={standing !== null} act={submit}>
          {t("send_scene", { name: scene.name, count: scene.members.length })}
        </Button>
      </div>
      <HowItWent of={scene} sent={sent.value} />
    </GroupsAndScenes>
  );
}

/** The last command as a whole, and the members that did not reach their goal. */
function HowItWent({ of: { members, result, running }, sent }: Readonly<{ of: Shared; sent: Sent | null }>) {
  const nameOf = (controller: string, actuator: string) =>
    members.find((one) => one.controller === controller && one.actuator === actuator)?.name ??
    `${controller} / ${actuator}`;
  const missed = new Set(result?.missed ?? []);
  const ended = result?.members ?? [];
  return (
    <div class="said" role="status" aria-live="polite">
      {running ? (
        <p>
          <Badge kind="busy">{commandText(running.command)}</Badge>{" "}
          {t("ended_of", { ended: running.ended, count: members.length })} <By of={running.by} />
        </p>
      ) : null}
      {sent?.error ? (
        <p class="refusal">
          <Says of={[sent.error]} />
        </p>
      ) : null}
      {result ? (
        <p class="result">
          <Code of={result.outcome} /> <strong>{commandText(result.command)}</strong>{" "}
          {ended.length === 0
            ? null
            : result.outcome === "already"
              ? t("all_already", { count: ended.length })
              : t("done_of", { done: ended.length - missed.size, count: ended.length })}{" "}
          <By of={result.by} /> <Age at={result.finished_at} />
        </p>
      ) : null}
      {ended
        .filter(({ controller, actuator }) => missed.has(`${controller}/${actuator}`))
        .map((member) => (
          <p key={`${member.controller}/${member.actuator}`} class="result">
            <Code of={member.outcome} /> <strong>{nameOf(member.controller, member.actuator)}</strong>{" "}
            <Says of={resultSentences(member)} />
          </p>
        ))}
    </div>
  );
}
