import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../support/database';
import { send } from '../support/http';
import { runProgram, running } from '../support/service';

const ROOT = join(__dirname, '..', '..');

const FIELD = (optional: string) =>
  `@Integer({ min: 1, max: 1e6, nullable: true, ${optional} description: 'Its weight.' })\n`;

/** The text before which each file needs something for a new member. CONTRIBUTING.md lists the same places. */
const ADDED: readonly [file: string, before: string, text: string][] = [
  [
    'pets.dto.ts',
    "  @OneOf(STATUS, {\n    optional: true,\n    description: 'Availability of the animal; `available`",
    `${FIELD('optional: true,')} readonly weightGrams: number | null = null;\n`,
  ],
  [
    'pets.dto.ts',
    "  @OneOf(STATUS, { optional: true, description: 'Availability of the animal.'",
    `${FIELD('optional: true,')} readonly weightGrams?: number | null;\n`,
  ],
  [
    'pets.dto.ts',
    "  @OneOf(STATUS, { description: 'Availability of the animal.'",
    `${FIELD('')} readonly weightGrams!: number | null;\n`,
  ],
  [
    'pet.entity.ts',
    "  status: { type: 'text' },",
    "  weightGrams: { type: 'integer', name: 'weight_grams' },\n",
  ],
  ['pets.repository.ts', 'status]: [bigint', 'weightGrams, '],
  ['pets.repository.ts', 'PetStatus]): Pet', 'number, '],
  ['pets.repository.ts', '  status,\n});', '  weightGrams,\n'],
  [
    'migrations/pets.migrations.ts',
    'export class PetWordBlocks1795219200071',
    `export class PetWeight1795219299999 extends SqlMigration {
  override readonly upSql = \`
    ALTER TABLE pets ADD COLUMN weight_grams integer;
    CREATE OR REPLACE FUNCTION pet_data(changed pets) RETURNS text LANGUAGE sql STABLE RETURN json_build_object(
      'id', changed.id, 'name', changed.name, 'categoryId', changed.category_id,
      'weightGrams', changed.weight_grams, 'status', changed.status)\`;
  override readonly downSql = '';
}\n`,
  ],
];

/** Adds the member to a copy of the source. @returns its folder */
function copyWithMember(): string {
  const copy = mkdtempSync(join(tmpdir(), 'member-'));
  for (const part of ['src', 'package.json']) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  for (const part of ['node_modules', 'docs']) symlinkSync(join(ROOT, part), join(copy, part));
  for (const [file, before, text] of ADDED) {
    const path = join(copy, 'src', 'pets', file);
    const source = readFileSync(path, 'utf8');
    expect([before, source.split(before).length]).toEqual([before, 2]);
    writeFileSync(
      path,
      source.replace(before, () => text + before),
    );
  }
  return copy;
}

it('a new member of an animal is in every response, event and file after a change of four places', async () => {
  const copy = copyWithMember();
  const database = await createDatabase('template0');
  const run = (call: string) =>
    runProgram(`require('${copy}/src').${call}`, { DATABASE_URL: database.directUrl });
  const runPets = async (...args: string[]) => {
    const command = run(`runAnimalStoreCommand(${JSON.stringify(['pets', ...args])})`);
    expect([await command.ended, command.output()]).toEqual([0, expect.any(String)]);
    return command.standardOutput();
  };
  const service = await running(run('startAnimalStore()'));
  const request = async (method: string, path: string, body?: object) => {
    const options = { key: service.key, isDocumented: false, ...(body && { body }) };
    return (await send(service.url, method, path, options)).json;
  };
  const rex = { name: 'Rex', categoryId: 3, weightGrams: 4200, status: 'sold' };
  const luna = { name: 'Luna', categoryId: 3, weightGrams: null, status: 'available' };
  const { id } = await request('POST', '/v1/pets', { ...rex, weightGrams: null });
  const animals = [
    [await request('PATCH', `/v1/pets/${id}`, { weightGrams: 4200 })],
    await request('POST', '/v1/pets/batch', { items: [luna] }),
  ];
  const file = join(copy, 'pets.csv');
  writeFileSync(file, await runPets('export', '--format', 'csv'));
  await runPets('import', file);
  for (const query of ['', '?categoryId=3&sort=id']) animals.push(await request('GET', `/v1/pets${query}`));
  const events = await database.query<{ data: string }>('SELECT data FROM events ORDER BY id OFFSET 1');
  animals.push(events.map(({ data }) => JSON.parse(data)));
  const both = animals.flat().map((pet) => ({ ...pet, id: undefined }));
  expect(both).toEqual(Array.from({ length: 7 }, () => [rex, luna]).flat());
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  await database.drop();
  rmSync(copy, { recursive: true });
});
