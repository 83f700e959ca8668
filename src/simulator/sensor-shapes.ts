import type { Dialect } from "./dialect.js";
import { layOut, type Fields } from "./layout.js";
import { writeTime } from "./local-time.js";
import type { SampleItem } from "./sample.js";

type SensorDialect = Dialect["sensors"];

/** Channel of the sensor that has no reading in the dialects with gaps. */
const gapChannel = 7;

/** Real-time sensor data as the dialect shows them; `at` is when they were sampled, real epoch ms. */
export function sensorAnswer(dialect: Dialect, items: readonly SampleItem[], at: number): Fields {
  const shape = dialect.sensors;
  const time = writeTime(at, shape.time);
  const written = items.map((item) => sensorFields(shape, item, time));
  const channel = (n: number) => String(items[n]?.sensor.channel ?? "");
  switch (shape.layout) {
    case "keyed_by_factor":
      return {
        data: Object.fromEntries(written.map((fields, n) => [items[n]?.sensor.factor ?? "", fields])),
      };
    case "by_channel":
      return { data: Object.fromEntries(written.map((fields, n) => [channel(n), [fields]])) };
    case "channel_entries":
      return { data: written.map((fields, n) => ({ channel: channel(n), sensors: [fields] })) };
    case "points":
      return { payload: { points: written } };
    case "keyed":
      return { data: Object.fromEntries(written.map((fields, n) => [nameOf(shape, items[n]), fields])) };
    case "array":
    case "list":
    case "records":
    case "rows":
      return layOut(written, shape.layout, () => "");
  }
}

const nameOf = (shape: SensorDialect, item: SampleItem | undefined): string =>
  (shape.names === "chinese" ? item?.sensor.name : item?.sensor.factor) ?? "";

function sensorFields(shape: SensorDialect, item: SampleItem, time: string | number): Fields {
  const { fields } = shape;
  const written: Fields = {};
  if (shape.layout !== "keyed") written[fields.name] = nameOf(shape, item);
  if (fields.factor !== null) written[fields.factor] = item.sensor.factor;
  if (fields.channel !== null) written[fields.channel] = item.sensor.channel;
  written[fields.value] = sensorValue(shape, item);
  if (fields.unit !== null) written[fields.unit] = item.sensor.unit;
  written[fields.time] = time;
  return written;
}

function sensorValue(shape: SensorDialect, item: SampleItem): unknown {
  if (item.isOverridden) return item.value;
  if (item.sensor.channel === gapChannel && shape.gaps !== "none") return shape.gaps === "null" ? null : "--";
  if (shape.value === "number" || typeof item.value !== "number") return item.value;
  const digits = item.value.toFixed(item.sensor.decimals);
  return shape.value === "text" ? digits : `${digits}${item.sensor.unit}`;
}
