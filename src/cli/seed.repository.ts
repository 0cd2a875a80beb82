import { WITHOUT_EVENTS } from '../database/migrate';
import { inOwnTransaction } from './pet-transfer.repository';

const NAMES =
  'Rex Bella Luna Max Charlie Milo Lucy Daisy Rocky Coco Oscar Simba Nala Felix Minka Balou Kira Sammy Lilly Paul Emma Bruno Jerry Tom Peggy Momo Findus Mimi Flocke Hansi Bobby Strolch'.split(
    ' ',
  );
const EPITHETS =
  'Brave Calm Clever Curious Dusty Fast Fluffy Gentle Golden Grey Happy Lazy Little Lucky Old Proud Quick Quiet Red Shy Silver Sleepy Small Spotted Swift Tame Tiny Wild Wise Young'.split(
    ' ',
  );

/** Large enough for a low cost per row, small enough that the progress is seen. */
const STATEMENT_ROWS = 10_000;

/** Returns a number below `size` from two bytes of the animal's hash. */
const pick = (at: number, size: number) =>
  `(get_byte(hash, ${at}) * 256 + get_byte(hash, ${at + 1})) % ${size}`;

/**
 * Adds the animals with the numbers $1 to $2. Each is chosen by a hash of its number and the seed, because random() and
 * hashtext() give other numbers on another server. OFFSET 0 computes the hash once for each animal.
 */
const ADD_PETS = `
  INSERT INTO pets (name, category_id, status)
  SELECT
    ($4::text[])[1 + ${pick(0, NAMES.length)}]
      || CASE WHEN ${pick(2, 2)} = 0 THEN '' ELSE ' the ' || ($5::text[])[1 + ${pick(4, EPITHETS.length)}] END,
    1 + ${pick(6, 24)},
    CASE WHEN ${pick(8, 10)} < 7 THEN 'available' WHEN ${pick(8, 10)} = 7 THEN 'pending' ELSE 'sold' END
  FROM generate_series($1::integer, $2::integer) AS number,
    LATERAL (SELECT sha256(convert_to(number || ':' || $3::text, 'UTF8')) AS hash OFFSET 0) AS hashed`;

/**
 * Adds plausible animals, all or none. Existing animals stay, and the service may run.
 *
 * @param seed the same seed makes the same animals in the same order; a smaller count makes the first of them
 * @param onProgress receives the number of animals added so far
 */
export async function seedPets(
  databaseUrl: string,
  count: number,
  seed: string,
  onProgress: (done: number) => void,
): Promise<void> {
  await inOwnTransaction(databaseUrl, async (client) => {
    await client.query(WITHOUT_EVENTS);
    for (let done = 0; done < count;) {
      const last = Math.min(done + STATEMENT_ROWS, count);
      await client.query(ADD_PETS, [done + 1, last, seed, NAMES, EPITHETS]);
      onProgress(last);
      done = last;
    }
    // Without it the planner uses the old statistics until autovacuum runs.
    await client.query('ANALYZE pets');
  });
}
