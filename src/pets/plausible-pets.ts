import { createHash } from 'node:crypto';
import { PET_STATUSES, type PetStatus } from './pet-status';

/** None of these has a character that COPY's text format would take for one of its own. */
const NAMES =
  'Rex Bella Luna Max Charlie Milo Lucy Daisy Rocky Coco Oscar Simba Nala Felix Minka Balou Kira Sammy Lilly Paul Emma Bruno Jerry Tom Peggy Momo Findus Mimi Flocke Hansi Bobby Strolch'.split(
    ' ',
  );
const EPITHETS =
  'Brave Calm Clever Curious Dusty Fast Fluffy Gentle Golden Grey Happy Lazy Little Lucky Old Proud Quick Quiet Red Shy Silver Sleepy Small Spotted Swift Tame Tiny Wild Wise Young'.split(
    ' ',
  );
const CATEGORIES = 24;

/** Of ten animals that many are in each state. */
const SHARES: Readonly<Record<PetStatus, number>> = { available: 7, pending: 1, sold: 2 };
const STATUSES = PET_STATUSES.flatMap((status) => Array.from({ length: SHARES[status] }, () => status));

/** Large enough that a piece costs little, small enough that the next one never waits long for room. */
const PIECE_ROWS = 1_000;

/**
 * Animals as a store could have them, as lines of COPY's text format: name, category, status. The same seed gives the
 * same animals in the same order; of a smaller count, the first of them.
 *
 * @param onPiece hears how many have been taken
 */
export function* plausiblePets(
  count: number,
  seed: string,
  onPiece: (taken: number) => void,
): Generator<string> {
  const random = randomFrom(seed);
  for (let taken = 0; taken < count;) {
    const rows = Math.min(PIECE_ROWS, count - taken);
    let piece = '';
    for (let row = 0; row < rows; row += 1) piece += plausiblePet(random);
    yield piece;
    taken += rows;
    onPiece(taken);
  }
}

function plausiblePet(random: Random): string {
  const name = pick(NAMES, random);
  const fullName = random() < 0.5 ? name : `${name} the ${pick(EPITHETS, random)}`;
  const categoryId = 1 + Math.floor(random() * CATEGORIES);
  return `${fullName}\t${categoryId}\t${pick(STATUSES, random)}\n`;
}

/** A number from 0 to less than 1. */
type Random = () => number;

function pick(list: readonly string[], random: Random): string {
  return list[Math.floor(random() * list.length)] ?? '';
}

/** The generator sfc32 (Chris Doty-Humphrey, PractRand): quick, and the same everywhere. */
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
