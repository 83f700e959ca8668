export interface Planted {
  /** `file#name`; the file is below `src`, with neither folder nor ending. */
  readonly seam: string;
  /** JavaScript: a function that is given what stands there and returns what takes its place. */
  readonly plant: string;
}

export function planted(text: string, bug: Planted): string;
export function seamFile(bug: Planted): string;
