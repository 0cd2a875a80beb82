import type { Paragraph } from './texts';

/** A word or phrase that docs/style.md rules out, and the plain one. */
interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** The longest sentence, in words. */
const MAX_WORDS = 30;

const RULES: readonly Rule[] = [
  rule('who|whoever|whom', 'the client, the service, the request, …; if, that'),
  rule('nobody|somebody|anybody|everybody', 'no client, another process, any client, every client'),
  rule('whatever', 'any, all'),
  rule('mend(?:s|ed|ing)?', 'fix'),
  rule('heed(?:s|ed|ing)?', 'respect, obey'),
  rule('refus(?:e|es|ed|ing|al|als)', 'reject'),
  rule('go(?:es)? on|went on|goes away|went away', 'continue, be removed, disconnect'),
  rule('(?:is|are|was|were) away', 'unavailable'),
  rule('at once', 'immediately, concurrently'),
  rule('alone', 'only'),
  rule('by itself|of itself|by themselves', 'leave out'),
  rule('com(?:e|es|ing) back', 'return, retry'),
  rule('(?:tell|tells|told|telling) of', 'report'),
  rule('beside', 'in addition to, next to'),
  rule('(?<!there )(?:is|are|was|were) (?:no|none)', 'is not'),
  rule('(?:an|the|its|their|every|each|no|one|same|such|first|last) answers?', 'response'),
  rule('answers? (?:of|to|with|from|is|are|was)', 'response'),
  rule('doors?|houses?|rooms?|rims?|wish(?:es)?|weather|innocent', 'the field word; no metaphors'),
  rule('where (?:it|there|no|nothing|one)', 'if, when'),
  rule('of (?:several|many|any number)', 'name the subject first'),
];

/** A sentence that begins with it hides its subject; a question does not. */
const BEGINNING = rule('(?<=^)what(?= .*[^?]$)', 'begin with the subject');

function rule(words: string, instead: string): Rule {
  return { pattern: new RegExp(`(?<![\\w-])(?:${words})(?![\\w-])`, 'gi'), instead };
}

/** @returns what docs/style.md rules out, each as `line: …` */
export function problemsOf({ line, text }: Paragraph): string[] {
  const sentences = text.split(/(?<=[.!?])\s+(?=\S)|\s\|\s/).map((sentence) => sentence.trim());
  const words = RULES.flatMap((each) => matches(text, each));
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
