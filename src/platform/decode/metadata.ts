/** Last words of names whose scalars describe a record or a page rather than being a reading or a register. */
const words = new Set(
  (
    "id code type status state flag version index order sort page pages size total count counts num number no " +
    "time date timestamp ts lng lat lon longitude latitude success name unit remark desc description message msg " +
    "online current deleted delete enabled enable by from to limit offset cost deviceid typeid stationid"
  ).split(" "),
);

const lastWord = /(?:[A-Z]+|[A-Z]?[a-z]+)$/;

export const isMetadata = (name: string): boolean =>
  words.has((lastWord.exec(name)?.[0] ?? "").toLowerCase());
