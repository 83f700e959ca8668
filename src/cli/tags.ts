import type { Configuration } from "../config/schema.js";
import { msg } from "../language/text.js";
import { controllerTopicId } from "../settings/controllers.js";
import type { Tag } from "../mqtt/tags.js";
import { topicsUnder } from "../mqtt/topics.js";
import { csvText } from "../runtime/csv.js";
import { textTable } from "../runtime/text-table.js";
import { codeOf } from "../terminal/common.js";
import { callOf } from "./feature-call.js";
import { CommandFailure } from "../runtime/ending.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";

/* `tags`: prints what the running bridge has on `<c>/tags` of each controller, after its own topics. */

interface TagsOptions extends CommonOptions {
  readonly controller?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
}

const columns = ["topic", "name", "kind", "unit", "type", "words", "min", "max", "writable"] as const;
type Row = Readonly<Record<(typeof columns)[number], string | number | boolean | undefined>>;

/** Topics of the bridge itself, without which no value is known to be valid. */
function ownTags({ mqtt }: Configuration): readonly Tag[] {
  const { bridge } = topicsUnder(mqtt.base_topic);
  const words = (...all: string[]) => Object.fromEntries(all.map((word, at) => [word, at]));
  return [
    { topic: bridge.state, name: "Bridge", type: "word", words: words("offline", "online") },
    {
      topic: bridge.platform,
      name: "Platform",
      type: "word",
      words: words("unreachable", "online", "degraded", "unauthorized"),
    },
    { topic: bridge.alarms, name: "Alarms", type: "json" },
  ];
}

const rowOf = ({ words, ...tag }: Tag): Row => ({
  kind: undefined,
  unit: undefined,
  min: undefined,
  max: undefined,
  writable: false,
  ...tag,
  words:
    words &&
    Object.entries(words)
      .map(([word, code]) => `${word}=${code}`)
      .join(" "),
});

const shown = [
  { field: "topic", title: msg`TOPIC`, usual: 40, most: 90 },
  { field: "type", title: msg`TYPE`, usual: 7, most: 8 },
  { field: "name", title: msg`NAME`, usual: 20, most: 40 },
  { field: "kind", title: msg`KIND`, usual: 12, most: 20 },
  { field: "unit", title: msg`UNIT`, usual: 6, most: 12 },
  { field: "min", title: msg`MIN`, usual: 5, most: 10 },
  { field: "max", title: msg`MAX`, usual: 5, most: 10 },
  { field: "words", title: msg`WORDS`, usual: 10, most: 120 },
] as const;

/** The tags that the bridge wrote; none for anything else. */
function tagsIn(payload: string): readonly Tag[] {
  try {
    const read: unknown = JSON.parse(payload);
    return Array.isArray(read) ? (read as readonly Tag[]) : [];
  } catch {
    return [];
  }
}

/** The topic filter for one controller, or for all. */
function filterOf(configuration: Configuration, controller: string | undefined): string {
  const { base_topic: base } = configuration.mqtt;
  if (controller === undefined) return `${base}/+/tags`;
  const code = codeOf(configuration, controller);
  return `${base}/${configuration.controllers[code]?.id ?? controllerTopicId(code)}/tags`;
}

export async function tags(context: ProcessContext, options: TagsOptions): Promise<void> {
  const { controller, csv, json } = options;
  const { tell } = context.speech;
  const { read, retained } = callOf(context, options);
  const configuration = await read();
  const texts = await retained(filterOf(configuration, controller));
  if (controller !== undefined && texts.size === 0)
    throw new CommandFailure(msg`the bridge shows no controller "${controller}"`);
  const sorted = [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const own = controller === undefined ? ownTags(configuration) : [];
  const all = [...own, ...sorted.flatMap(([, text]) => tagsIn(text))];
  if (json === true) for (const one of all) context.out(`${JSON.stringify(one)}\n`);
  else if (csv === true)
    context.out(csvText([columns, ...all.map(rowOf).map((row) => columns.map((column) => row[column]))]));
  else
    context.out(
      `${
        textTable(
          shown.map((column) => ({ ...column, title: tell(column.title) })),
          all.map(rowOf),
          cellsOf,
        ).text
      }\n`,
    );
}

const cellsOf = (row: Row): Readonly<Record<(typeof shown)[number]["field"], string>> => ({
  topic: String(row.topic),
  type: String(row.type),
  name: String(row.name),
  kind: String(row.kind ?? ""),
  unit: String(row.unit ?? ""),
  min: String(row.min ?? ""),
  max: String(row.max ?? ""),
  words: String(row.words ?? ""),
});
