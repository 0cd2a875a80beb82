import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { DOCUMENT, FOLDER } from './support/files.mjs';
import { pathOf, run } from './support/program.mjs';
import { baseUrl, createKey } from './support/service.mjs';

const GENERATED = join(FOLDER, 'generated', 'clients');
const into = (...names) => join(GENERATED, ...names);

/** The command of each generator: the document, where the code goes, and no other option. */
const COMMANDS = {
  'openapi-typescript': [DOCUMENT, '--output', into('openapi-typescript', 'api.d.ts')],
  'hey-api': ['--input', DOCUMENT, '--output', into('hey-api')],
  orval: ['--input', DOCUMENT, '--output', into('orval', 'api.ts')],
  'swagger-typescript-api': ['generate', '--path', DOCUMENT, '--output', into('swagger-typescript-api')],
  oazapfts: [DOCUMENT, into('oazapfts', 'api.ts')],
};

suite('a client of a generator with its default options', () => {
  before(async () => {
    for (const [name, args] of Object.entries(COMMANDS)) {
      rmSync(into(name), { recursive: true, force: true });
      mkdirSync(into(name), { recursive: true });
      // The newer Node of this package: Orval needs it.
      await run('node', pathOf(name === 'hey-api' ? 'openapi-ts' : name), ...args);
    }
    // Generated code imports without extensions, which ES modules cannot do.
    writeFileSync(into('package.json'), '{ "type": "commonjs" }');
    await run('tsc', '--project', 'generators');
  });

  for (const name of Object.keys(COMMANDS)) {
    test(`${name}: list, add, order, cancel compiles in strict mode and runs`, async () => {
      const { flow } = await import(`./generated/clients/programs/generators/${name}.js`);
      // The length of the list, the three statuses, and the message of an order of an animal that does not exist.
      const [length, ...results] = await flow(baseUrl, await createKey(name));
      assert.equal(typeof length, 'number');
      assert.deepEqual(results, ['available', 'placed', 'cancelled', 'There is no animal with this id.']);
    });
  }
});
