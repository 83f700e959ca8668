interface Finding {
  readonly page: string;
  readonly count: number;
  readonly text: string;
}
type Found = Readonly<
  Record<"words" | "longSentences" | "passiveStarts" | "blackWords" | "fullCells", readonly Finding[]>
>;

export function wordsOf(text: string): number;
export function sentencesOf(text: string): string[];
export function cellsOf(text: string): string[];
export function judge(pages: Iterable<readonly [page: string, text: string]>): Found;
export function englishHalf(text: string): string;
export function asSaid(template: string): string;
