import { text } from "./values.js";

/* Levels without wildcards and control characters; `$` at the start belongs to the broker. */
const topicPattern = /^(?![$/])(?!.*\/(?:\/|$))[^+#\p{Cc}\p{Cs}]{1,200}$/u;

export const topic = () => text('a topic without "+" and "#", and no "/" or "$" at its start', topicPattern);

/* `+` alone in its level, `#` alone in the last one. */
const filterPattern = /^(?:(?:\+|[^+#/\p{Cc}\p{Cs}]*)\/)*(?:#|\+|[^+#/\p{Cc}\p{Cs}]+)$/u;

export const topicFilter = () => text('a topic filter such as greenhouse/+/sensor/# or "#"', filterPattern);
