import { type Ask, type Held } from "../../judge/history.js";
import { judgeHistory } from "../../judge/judge.js";
import { historyOf, inRealTime, type Recording } from "../../judge/recorded.js";
import { stateAddresses } from "../../judge/values.js";
import { devicesIn } from "./devices.js";
import { journalOf } from "./journal.js";
import type { SimulatedPlatform } from "./platform.js";
import type { Configuration, Stage } from "./stage.js";
import type { Watch } from "./watch.js";

/** What a test knows besides of the time that was recorded. */
export type Known = Partial<
  Pick<
    Recording,
    "gaps" | "unwritable" | "honest" | "maxAgeMs" | "keptMs" | "showsTravel" | "readings" | "requests"
  >
>;

interface Rig {
  readonly stage: Pick<Stage, "folder">;
  readonly platform: SimulatedPlatform;
  readonly watch: Watch;
  readonly configuration: Configuration;
}

/** Every rule of a right command that the built program broke since its stage began, as sentences. */
export async function brokenRules(rig: Rig, known: Known = {}): Promise<readonly string[]> {
  const { stage, platform, watch, configuration } = rig;
  const records = (await journalOf(stage)).filter(({ type }) => type !== undefined && type !== "carried");
  const held = new Map<string, readonly Held[]>();
  const recording: Recording = {
    messages: watch.seen,
    journal: inRealTime(records),
    posts: await platform.posts(),
    requests: null,
    held,
    deviceOf: devicesIn(configuration),
    gaps: [],
    absences: watch.absences,
    unwritable: [],
    ...known,
  };
  const history = historyOf(recording);
  for (const ask of history.asks.values())
    for (const place of placesOf(ask)) {
      const [code = "", address = ""] = place.split("/");
      if (!held.has(place)) held.set(place, await platform.held(code, address));
    }
  return judgeHistory(history).map(({ rule, text }) => `${rule}: ${text}`);
}

const placesOf = ({ code, settings }: Ask): readonly string[] =>
  settings === null
    ? []
    : [...stateAddresses(settings), settings.address].map((address) => `${code}/${address}`);
