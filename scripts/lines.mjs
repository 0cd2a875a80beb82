// Prints the lines of each folder of `src` and their limits in docs/architecture.md. Fails if a folder is above its limit.
import { readdirSync, readFileSync } from 'node:fs';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.(ts|lua)$/.test(name),
);

const table = readFileSync('docs/architecture.md', 'utf8');
const rows = Array.from(table.matchAll(/^\| `src\/?([a-z-]*)` +\| +(\d+) \|/gm), ([, folder, limit]) => {
  const files = sources.filter((name) => (folder ? name.startsWith(`${folder}/`) : !name.includes('/')));
  const lines = files.reduce(
    (sum, file) => sum + readFileSync(`src/${file}`, 'utf8').split('\n').length - 1,
    0,
  );
  return { folder: folder || '.', lines, limit: Number(limit), isAbove: lines > Number(limit) };
});
console.table(
  Object.fromEntries(rows.map(({ folder, lines, limit }) => [folder, { lines, 'at most': limit }])),
);
const total = rows.reduce((sum, { lines }) => sum + lines, 0);
const above = rows.filter(({ isAbove }) => isAbove);
console.log(`src has ${total} lines.`);
for (const { folder, lines, limit } of above)
  console.error(
    `src/${folder} has ${lines} lines, but docs/architecture.md allows ${limit}: remove some, or raise the limit there.`,
  );
process.exitCode = above.length > 0 ? 1 : 0;
