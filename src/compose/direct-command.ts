import anyAscii from "any-ascii";
import type { CommandRequest, Phase } from "../commands/command.js";
import { laneKey } from "../commands/command.js";
import { GreenhouseStore } from "../bridge/store.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { createCommander } from "./create-commander.js";
import { mirrorSettings } from "./mirror-settings.js";
import { openJournal } from "./open-journal.js";
import { openPlatform } from "./open-platform.js";

export type DirectRequest = Pick<
  CommandRequest,
  "controllerId" | "target" | "targetId" | "payload" | "by" | "via"
>;

/**
 * One command without a running bridge: the same path and the same journal, whose directory must be free. Rejects with
 * DirectoryInUse when a bridge works there.
 */
export async function commandDirectly(
  around: BridgeSurroundings,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { configuration, clock } = around;
  const opened = await openJournal(around);
  const platform = openPlatform(around, () => undefined);
  opened.compareClock(() => platform.clockSkewMs());
  const settings = mirrorSettings(configuration);
  const store = new GreenhouseStore(settings, clock, anyAscii);
  store.setReachable(true);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  const parts = { platform, store, journal: opened.journal };
  try {
    return await new Promise((resolve) => {
      // Whoever waits is told the result itself.
      const commander = createCommander({ ...around, commandLog: undefined }, parts, {
        phase: (_, phase) => {
          onPhase(phase);
        },
        result: resolve,
        event: () => undefined,
        showAgain: () => undefined,
      });
      commander.restoreUnread(unreadLanes(opened.journal.history()));
      commander.submit({ ...request, retained: false, expiryMs: null, response: null });
    });
  } finally {
    await platform.close();
    await opened.close();
  }
}

function unreadLanes({
  unread,
}: ReturnType<Awaited<ReturnType<typeof openJournal>>["journal"]["history"]>): readonly string[] {
  return unread.map(({ controller, target, actuator }) =>
    laneKey({ code: controller, target, targetId: actuator }),
  );
}
