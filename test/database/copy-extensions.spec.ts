import { copyDatabase } from '../../src/platform/database/copy/copy-database';
import { migrate } from '../../src/platform/database/migrate';
import { forgetExtension } from '../../src/platform/database/revert';
import { kennels } from '../modules/support/kennels.extension';
import { createDatabase, type TestDatabase } from '../support/database';
import { schemaConfig } from '../support/schema-config';
import { contentOf, messageOf } from './support/copying';
import { configWith, extensionOf, migrationOf } from './support/extensions';

/** Refers to tables of the store and of another extension, and adds rows. */
const Stays = migrationOf(
  'Stays1795300000001',
  `ALTER TABLE kennels ADD PRIMARY KEY (name);
   CREATE TABLE stays (kennel text REFERENCES kennels, pet_id bigint REFERENCES pets, days int DEFAULT 1);
   INSERT INTO kennels VALUES ('South')`,
  `DROP TABLE stays; DELETE FROM kennels WHERE name = 'South'; ALTER TABLE kennels DROP CONSTRAINT kennels_pkey`,
);
const stays = extensionOf('stays', Stays);

describe('a copy of a database with removed extensions', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  beforeEach(async () => {
    source = await createDatabase();
    target = await createDatabase('template0');
    await migrate(configWith(source.url, kennels, stays));
    await source.query(`
      INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'available');
      INSERT INTO kennels VALUES ('North');
      INSERT INTO stays SELECT 'North', id FROM pets`);
  });
  afterEach(async () => {
    await source.drop();
    await target.drop();
  });

  const shapeOf = (database: TestDatabase) =>
    database.query(`
      SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns
      WHERE table_schema = 'public' ORDER BY 1, 2`);

  it.each([
    ['all are removed', []],
    ['one is removed', [kennels]],
    ['none is removed', [kennels, stays]],
  ])('has the same tables and rows, if %s', async (_which, extensions) => {
    await copyDatabase(configWith(source.url, ...extensions), target.url, () => undefined);
    expect(await shapeOf(target)).toEqual(await shapeOf(source));
    expect(await contentOf(target)).toEqual(await contentOf(source));
  });

  it('can forget them', async () => {
    await copyDatabase(schemaConfig(source.url), target.url, () => undefined);
    for (const name of ['stays', 'kennels']) await forgetExtension(schemaConfig(target.url), name);
    expect(await target.query(`SELECT to_regclass('kennels') AS found`)).toEqual([{ found: null }]);
    expect(await migrate(schemaConfig(target.url))).toEqual({ applied: [], removed: [] });
  });

  it('is rejected if the program has an older version of the extension', async () => {
    const older = { ...stays, migrations: [migrationOf('Other1795300000000', 'SELECT 1', 'SELECT 1')] };
    const copying = copyDatabase(configWith(source.url, kennels, older), target.url, () => undefined);
    expect(await messageOf(copying)).toMatch(
      /^The database was migrated by a newer version of the extension stays/,
    );
  });
});
