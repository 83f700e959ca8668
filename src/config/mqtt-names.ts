import { text } from "./values.js";

/* Levels without wildcards and control characters; `$` at the start belongs to the broker. */
const topicPattern = /^(?![$/])(?!.*\/(?:\/|$))[^+#\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/;

export const topic = () => text('a topic without "+" and "#", and no "/" or "$" at its start', topicPattern);

/* `+` alone in its level, `#` alone in the last one. */
const filterPattern =
  /^(?:(?:\+|[^+#/\u0000-\u001f\u007f-\u009f\ud800-\udfff]*)\/)*(?:#|\+|[^+#/\u0000-\u001f\u007f-\u009f\ud800-\udfff]+)$/;

export const topicFilter = () => text('a topic filter such as greenhouse/+/sensor/# or "#"', filterPattern);
