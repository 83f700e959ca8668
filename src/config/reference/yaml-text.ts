const plain = /^[A-Za-z0-9./_][A-Za-z0-9./_-]*$/;
const words = /^(?:null|true|false|~)$/i;

/** A default as a user would write it in YAML. */
export function yamlText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return plain.test(value) && !words.test(value) && Number.isNaN(Number(value))
    ? value
    : JSON.stringify(value);
}
