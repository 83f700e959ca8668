/** Options of every command that take a value. */
const names = ["--config", "--log-level", "--data-dir"];

/** How many words the option at the front takes; 0 when it is none of every command's. */
function wordsOf([first = "", second]: readonly string[]): number {
  const isJoined = names.some((name) => first.startsWith(`${name}=`)) || /^-c./.test(first);
  if (isJoined) return 1;
  return (first === "-c" || names.includes(first)) && second !== undefined ? 2 : 0;
}

/**
 * The words of a command line with the command in front: options of every command that stand before it are moved behind it, where the
 * command reads them. One that is given in both places counts as written behind it.
 */
export function commandFirst(words: readonly string[]): readonly string[] {
  let at = 0;
  for (let more = wordsOf(words); more > 0; more = wordsOf(words.slice(at))) at += more;
  const command = words[at];
  if (at === 0 || command === undefined || command.startsWith("-")) return words;
  const rest = words.slice(at + 1);
  // `help` names a command and takes no options.
  return command === "help" ? [command, ...rest] : [command, ...words.slice(0, at), ...rest];
}
