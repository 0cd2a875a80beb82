import { BEGINNING, MAX_WORDS, type Rule, RULES } from './rules';
import type { Paragraph } from './texts';

/** @returns what docs/style.md rules out, each as `line: …` */
export function problemsOf({ line, text }: Paragraph): string[] {
  const sentences = text.split(/(?<=[.!?])\s+(?=\S)|\s\|\s/).map((sentence) => sentence.trim());
  const words = RULES.flatMap((rule) => matches(text, rule));
  const beginnings = sentences.flatMap((sentence) =>
    sentence.split(/\s+/).length > 4 ? matches(sentence, BEGINNING) : [],
  );
  const long = text
    .split(/(?<=[.!?:;])\s+(?=\S)|\s\|\s/)
    .map((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length)
    .filter((count) => count > MAX_WORDS)
    .map((count) => `a sentence of ${count} words (at most ${MAX_WORDS})`);
  return [...words, ...beginnings, ...long].map((problem) => `${line}: ${problem}`);
}

function matches(text: string, { pattern, instead }: Rule): string[] {
  return [...text.matchAll(pattern)].map(([found]) => `"${found}" (${instead})`);
}
