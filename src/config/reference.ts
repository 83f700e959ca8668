export { exampleText } from "./reference/example.js";
export { jsonSchema } from "./reference/json-schema.js";
export { withReference } from "./reference/readme.js";
export { referenceTable } from "./reference/table.js";
