import { create, createFileRegistry, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

/*
 * The messages of Sparkplug B, with the field numbers of chapter 6 of the specification (sparkplug_b.proto). Data sets,
 * templates, files and nested property sets are left out: the bridge sends none and skips received ones, so no payload
 * can nest.
 */

/** Numbers of the data types that the bridge uses. */
export const datatypes = { Int32: 3, Int64: 4, Double: 10, Boolean: 11, String: 12 } as const;
export type Datatype = keyof typeof datatypes;

export type WireValue =
  | { readonly case: "intValue"; readonly value: number }
  | { readonly case: "longValue"; readonly value: bigint }
  | { readonly case: "floatValue"; readonly value: number }
  | { readonly case: "doubleValue"; readonly value: number }
  | { readonly case: "booleanValue"; readonly value: boolean }
  | { readonly case: "stringValue"; readonly value: string }
  | { readonly case: undefined; readonly value?: undefined };

type WireProperty = Message<"sparkplug.PropertyValue"> & {
  type?: number;
  isNull?: boolean;
  value: WireValue;
};
type WireProperties = Message<"sparkplug.PropertySet"> & { keys: string[]; values: WireProperty[] };
export type WireMetric = Message<"sparkplug.Metric"> & {
  name?: string;
  alias?: bigint;
  timestamp?: bigint;
  datatype?: number;
  isHistorical?: boolean;
  isTransient?: boolean;
  isNull?: boolean;
  properties?: WireProperties;
  value: WireValue;
};
export type WirePayload = Message<"sparkplug.Payload"> & {
  timestamp?: bigint;
  metrics: WireMetric[];
  seq?: bigint;
};

type FileInit = Exclude<MessageInitShape<typeof FileDescriptorProtoSchema>, Message>;
type MessageInit = Exclude<NonNullable<FileInit["messageType"]>[number], Message>;
type FieldInit = Exclude<NonNullable<MessageInit["field"]>[number], Message>;

const scalar = (name: string, number: number, type: Type): FieldInit => ({
  name,
  number,
  type,
  label: Label.OPTIONAL,
});
const nestedField = (name: string, number: number, of: string, label = Label.OPTIONAL): FieldInit => ({
  ...scalar(name, number, Type.MESSAGE),
  typeName: `.sparkplug.${of}`,
  label,
});

/** The alternative values of a message, with consecutive field numbers. */
const values = (first: number): readonly FieldInit[] => [
  scalar("int_value", first, Type.UINT32),
  scalar("long_value", first + 1, Type.UINT64),
  scalar("float_value", first + 2, Type.FLOAT),
  scalar("double_value", first + 3, Type.DOUBLE),
  scalar("boolean_value", first + 4, Type.BOOL),
  scalar("string_value", first + 5, Type.STRING),
];

/** A message definition. Every field is optional, which protobuf's third version writes as a choice of one. */
function message(name: string, fields: readonly FieldInit[], oneOf: readonly FieldInit[] = []): MessageInit {
  const single = fields.filter(({ type, label }) => label === Label.OPTIONAL && type !== Type.MESSAGE);
  const choices = oneOf.length > 0 ? ["value"] : [];
  const place = (field: FieldInit) => choices.length + single.indexOf(field);
  return {
    name,
    field: [
      ...fields.map((field) =>
        single.includes(field) ? { ...field, proto3Optional: true, oneofIndex: place(field) } : field,
      ),
      ...oneOf.map((field) => ({ ...field, oneofIndex: 0 })),
    ],
    oneofDecl: [...choices, ...single.map((field) => `_${field.name ?? ""}`)].map((one) => ({ name: one })),
  };
}

const file = create(FileDescriptorProtoSchema, {
  name: "sparkplug_b.proto",
  package: "sparkplug",
  syntax: "proto3",
  messageType: [
    message("PropertyValue", [scalar("type", 1, Type.UINT32), scalar("is_null", 2, Type.BOOL)], values(3)),
    message("PropertySet", [
      { ...scalar("keys", 1, Type.STRING), label: Label.REPEATED },
      nestedField("values", 2, "PropertyValue", Label.REPEATED),
    ]),
    message(
      "Metric",
      [
        scalar("name", 1, Type.STRING),
        scalar("alias", 2, Type.UINT64),
        scalar("timestamp", 3, Type.UINT64),
        scalar("datatype", 4, Type.UINT32),
        scalar("is_historical", 5, Type.BOOL),
        scalar("is_transient", 6, Type.BOOL),
        scalar("is_null", 7, Type.BOOL),
        nestedField("properties", 9, "PropertySet"),
      ],
      values(10),
    ),
    message("Payload", [
      scalar("timestamp", 1, Type.UINT64),
      nestedField("metrics", 2, "Metric", Label.REPEATED),
      scalar("seq", 3, Type.UINT64),
    ]),
  ],
});

function schemaOf(): GenMessage<WirePayload> {
  const found = createFileRegistry(file, () => undefined).getMessage("sparkplug.Payload");
  if (found === undefined) throw new Error("the schema of Sparkplug payloads does not hold together");
  return found as GenMessage<WirePayload>;
}

export const payloadSchema = schemaOf();
