import { z } from "zod";
import { expecting, expectingOneOf } from "../expectation.js";
import { typeFacts } from "../facts.js";
import { optional } from "../fields.js";
import { section, text, writtenText } from "../values.js";

/** Operations whose answers the interface document does not show in full, and the push channels. */
const operations = [
  "control/mqtt",
  "mqtt-client-status",
  "sensor-data",
  "device_status",
  "get-value",
  "set-value",
  "set-value/flush",
  "station",
  "device",
  "weather-data/avg",
  "weather-data/list",
  "video-data/list",
  "account/sign-in",
  "ws/device-status",
  "ws/set-value",
  "ws/sensor-data",
] as const;

export type ShapedOperation = (typeof operations)[number];

const path = () => text("a path such as data.list");

const query = () => {
  const name = text("the name of a query parameter", /^[A-Za-z0-9._-]{1,64}$/);
  const schema = z.record(z.string(), name, { error: expecting("a section of names") });
  typeFacts.add(schema, { name: "map of names" });
  return schema;
};

const params = () => {
  const name = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, {
    error: expecting("the name of a query parameter"),
  });
  const value = writtenText("the text of a query parameter", /^.{1,200}$/u);
  const schema = z.record(name, value, { error: expecting("a section of parameters with their values") });
  typeFacts.add(schema, { name: "map of texts" });
  return schema;
};

const shape = () =>
  section({
    items: optional(path(), "Where the list of items stands.", { example: "data.list" }),
    name: optional(path(), "In an item: its name.", { example: "factorName" }),
    value: optional(path(), "In an item: its value.", { example: "val" }),
    unit: optional(path(), "In an item: its unit.", { example: "unit" }),
    time: optional(path(), "In an item: when it was measured.", { example: "dateTime" }),
    channel: optional(path(), "In an item: its channel.", { example: "channel" }),
    code: optional(path(), "In an item: its factor or device code.", { example: "factor" }),
    params: optional(params(), "Fixed query parameters, added to each read.", {
      example: "{ pageSize: 500 }",
    }),
    query: optional(query(), "The platform's names of query parameters.", {
      example: "{ deviceCode: code }",
    }),
  });

export function shapes() {
  const schema = z.partialRecord(z.enum(operations, { error: expectingOneOf(operations) }), shape(), {
    error: expecting("a section of operations"),
  });
  return schema;
}
