import { isInteger, parse } from 'lossless-json';

/** A document in JavaScript numbers, and what they stand for. */
export interface WithStandIns {
  readonly document: unknown;
  /** The digits of each integer that a number may not hold exactly, by the number that stands for it. */
  readonly standIns: Readonly<Record<number, string>>;
}

/**
 * Parses a document for a program that holds integers as numbers. An integer beyond 2^53 becomes the nearest number that
 * stands for no other integer of the document, so the program can look up its digits.
 */
export function withStandIns(text: string): WithStandIns {
  const standIns: Record<number, string> = {};
  const standInOf = (digits: string): number => {
    const nearest = Number(digits);
    if (Number.isSafeInteger(nearest) || !Number.isFinite(nearest) || !isInteger(digits)) return nearest;
    let standIn = nearest;
    while ((standIns[standIn] ?? digits) !== digits) standIn = nextFrom(standIn);
    standIns[standIn] = digits;
    return standIn;
  };
  return { document: parse(text, undefined, standInOf), standIns };
}

/** Returns one of the next numbers, away from zero: so a bound is never narrower than its digits. */
function nextFrom(number: number): number {
  return number * (1 + Number.EPSILON);
}
