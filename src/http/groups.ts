import { vocabulary } from "../greenhouse/command/words.js";
import type { CommandRequest } from "../commands/command.js";
import type {
  Group,
  GroupOrScene,
  GroupResult,
  GroupsAndScenes,
  GroupState,
  Member,
  MemberResult,
} from "../greenhouse/groups.js";
import type { GroupView, MemberView, GroupsAndScenesView, Untold } from "../page/protocol.js";
import type { GreenhouseStore } from "../sync/store.js";
import { isoOrNull, nameOf } from "../greenhouse/documents.js";

/* What the page shows of groups and scenes. */

type Store = Pick<GreenhouseStore, "get">;

/** A command to a group or scene that is under way. */
interface Running {
  readonly kind: GroupOrScene;
  readonly about: string;
  readonly id: string;
  readonly command: string | null;
  readonly by: string | null;
  readonly open: ReadonlyMap<string, Member>;
  readonly ended: readonly MemberResult[];
}

/** Groups and scenes as the page reads them. */
export interface ShownGroups {
  readonly groupsAndScenes: GroupsAndScenes;
  stateOf(group: Group): GroupState;
  runningOf(kind: GroupOrScene, id: string): Running | null;
  lastOf(kind: GroupOrScene, id: string): GroupResult | null;
}

/** Groups and scenes, and how the page commands them. */
export interface CommandedGroups extends ShownGroups {
  submit(request: GroupRequest): { readonly id: string; readonly refused: GroupResult | null };
  find(id: string): Running | GroupResult | null;
}

interface GroupRequest extends Pick<
  CommandRequest,
  "payload" | "retained" | "expiryMs" | "ageMs" | "by" | "via" | "response"
> {
  readonly kind: GroupOrScene;
  readonly id: string;
}

function memberView(member: Member, command: string | null, store: Store): Untold<MemberView> {
  const { code, controllerId, actuator } = member;
  const controller = store.get(code);
  const found = controller?.actuators.get(actuator);
  return {
    controller: controllerId,
    actuator,
    name: controller === undefined ? `${controllerId} / ${actuator}` : nameOf(controller, actuator),
    command,
    state: found?.state ?? null,
    position: found?.position ?? null,
    quality: found?.state ? found.quality : "stale",
    read_at: isoOrNull(found?.readAt ?? null),
    locked_by: found?.restrictions?.lock?.by ?? null,
  };
}

const runningView = (running: Running | null): GroupView["running"] =>
  running && {
    id: running.id,
    command: running.command,
    by: running.by,
    ended: running.ended.length,
  };

export function groupsAndScenesView(groups: ShownGroups, store: Store): Untold<GroupsAndScenesView> {
  const { groupsAndScenes } = groups;
  return {
    groups: Object.fromEntries(
      [...groupsAndScenes.groups.values()].map((group) => {
        const { id, name, target, members } = group;
        const { words, degrees } = vocabulary(target);
        const { state, position, quality } = groups.stateOf(group);
        const view: Untold<GroupView> = {
          name,
          state,
          position,
          quality,
          words: words.filter((word) => word !== "stop"),
          degrees: degrees !== null,
          stop: words.includes("stop"),
          members: members.map((member) => memberView(member, null, store)),
          running: runningView(groups.runningOf("group", id)),
          result: groups.lastOf("group", id),
        };
        return [id, view];
      }),
    ),
    scenes: Object.fromEntries(
      [...groupsAndScenes.scenes.values()].map(({ id, name, commands }) => [
        id,
        {
          name,
          members: commands.map(({ member, command }) => memberView(member, command, store)),
          running: runningView(groups.runningOf("scene", id)),
          result: groups.lastOf("scene", id),
        },
      ]),
    ),
  };
}

/** The answer of `api/commands/<id>` for a command to a group or scene. */
export function groupCommandView(known: Running | GroupResult) {
  const isOpen = "open" in known;
  const members: readonly MemberResult[] = isOpen ? known.ended : known.members;
  const { id, command } = known;
  const [group, scene] = isOpen
    ? [known.kind === "group" ? known.about : null, known.kind === "scene" ? known.about : null]
    : [known.group, known.scene];
  return {
    id,
    group,
    scene,
    command,
    phase: isOpen ? "sending" : "done",
    members,
    result: isOpen ? null : known,
  };
}
