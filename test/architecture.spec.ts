import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCE = join(__dirname, '..', 'src');
const SQL = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE)\b|createQueryBuilder/;
/** Files that may have SQL. */
const OF_DATABASE = /\.repository\.ts$|\/migrations\/|^(?:database|cli\/backup|embedded-postgres)\//;

// `.oxlintrc.json` has the rules for imports.
describe('the source', () => {
  it('has SQL only in repositories, migrations, backups and the folders of the database', () => {
    const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const withSql = files.filter((name) => SQL.test(readFileSync(join(SOURCE, name), 'utf8')));
    expect(withSql.length).toBeGreaterThan(3);
    expect(withSql.filter((name) => !OF_DATABASE.test(name))).toEqual([]);
  });
});
