/**
 * Plants a bug into one module, in JavaScript: what stands at its seam is replaced by what `plant` makes of it. A seam is
 * `file#name`, where the name is a function or constant of the module, or a class's method (`Class.method`, `Class.#method`).
 * What is planted sees all that the module sees.
 */
export function planted(text, { seam, plant }) {
  const name = seam.slice(seam.indexOf("#") + 1);
  const [owner, method] = name.split(".");
  // Nothing outside a class reaches what is private in it.
  const open = method?.startsWith("#") ? text.replace(/(^|[\s.(!])#(?=[A-Za-z])/gm, "$1_private_") : text;
  const place = method === undefined ? owner : `${owner}.prototype.${method.replace("#", "_private_")}`;
  const loose = open.replace(new RegExp(`^(export )?const (?=${owner}\\b)`, "m"), "$1let ");
  return `${loose}\n${place} = (${plant})(${place});\n`;
}

/** The file of a seam, below `src` or, in JavaScript, below `dist`. */
export const seamFile = ({ seam }) => seam.slice(0, seam.indexOf("#"));
