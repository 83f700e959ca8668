/**
 * Links of the menu to the documents of other versions. Each version is built once and stays in a folder of its name, so only
 * the newest, at the root, knows them all: every other one leads there. `home` is the whole address of the root, `versions`
 * the names of the folders with blanks between; without them there is nothing to lead to.
 */
export function versionLinks({ home, versions = "", language = "", newest }) {
  if (!home) return [];
  // Without a target, VitePress would look for the page within this version.
  const to = (text, folder) => ({ text, link: `${home}${folder}${language}`, target: "_self" });
  const names = [...new Set(versions.split(/\s+/).filter((name) => /^v\d/.test(name)))];
  return [
    to(newest, ""),
    ...names
      .sort((one, other) => other.localeCompare(one, "en", { numeric: true }))
      .map((name) => to(name, `${name}/`)),
  ];
}
