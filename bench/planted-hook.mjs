// Preload (`--import`): a fault that the rows of `line.mjs` must find. Each answer of the platform loops over all
// controllers.
const { parse } = JSON;
let controllers = 0;
let work = 0;

JSON.parse = (text, ...more) => {
  const listed = typeof text === "string" ? text.split('"deviceTypeId"').length - 1 : 0;
  controllers = Math.max(controllers, listed);
  for (let n = 0; n < controllers * 1_000; n += 1) work = (work + n) | 0;
  return parse(text, ...more);
};
