import { createHash } from 'node:crypto';
import { PET_STATUSES, type PetStatus } from '../../pets';

/** Names and epithets have no character that is special in COPY's text format. */
const NAMES =
  'Rex Bella Luna Max Charlie Milo Lucy Daisy Rocky Coco Oscar Simba Nala Felix Minka Balou Kira Sammy Lilly Paul Emma Bruno Jerry Tom Peggy Momo Findus Mimi Flocke Hansi Bobby Strolch'.split(
    ' ',
  );
const EPITHETS =
  'Brave Calm Clever Curious Dusty Fast Fluffy Gentle Golden Grey Happy Lazy Little Lucky Old Proud Quick Quiet Red Shy Silver Sleepy Small Spotted Swift Tame Tiny Wild Wise Young'.split(
    ' ',
  );
const CATEGORIES = 24;

/** The number of animals in each status, of ten. */
const SHARES: Readonly<Record<PetStatus, number>> = { available: 7, pending: 1, sold: 2 };
const STATUSES = PET_STATUSES.flatMap((status) => Array.from({ length: SHARES[status] }, () => status));

/** Large enough for a low cost per row, small enough that a chunk waits only briefly for the connection. */
const CHUNK_ROWS = 1_000;

/**
 * Generates plausible animals as lines of COPY's text format: name, category, status. The same seed gives the same
 * animals in the same order; a smaller count gives the first of them.
 *
 * @param onChunk receives the number of animals generated so far
 */
export function* plausiblePets(
  count: number,
  seed: string,
  onChunk: (taken: number) => void,
): Generator<string> {
  const random = randomFrom(seed);
  for (let taken = 0; taken < count;) {
    const rows = Math.min(CHUNK_ROWS, count - taken);
    let chunk = '';
    for (let row = 0; row < rows; row += 1) chunk += plausiblePet(random);
    yield chunk;
    taken += rows;
    onChunk(taken);
  }
}

function plausiblePet(random: Random): string {
  const name = pick(NAMES, random);
  const fullName = random() < 0.5 ? name : `${name} the ${pick(EPITHETS, random)}`;
  const categoryId = 1 + Math.floor(random() * CATEGORIES);
  return `${fullName}\t${categoryId}\t${pick(STATUSES, random)}\n`;
}

/** Returns a number from 0 to less than 1. */
type Random = () => number;

function pick(list: readonly string[], random: Random): string {
  return list[Math.floor(random() * list.length)] ?? '';
}

/** Makes a random generator: sfc32 (Chris Doty-Humphrey, PractRand), which gives the same numbers on every machine. */
function randomFrom(seed: string): Random {
  const hash = createHash('sha256').update(seed).digest();
  let [a, b, c, counter] = [
    hash.readInt32LE(0),
    hash.readInt32LE(4),
    hash.readInt32LE(8),
    hash.readInt32LE(12),
  ];
  return () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
}
