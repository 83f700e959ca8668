export function searchWords(text: string): readonly string[];
