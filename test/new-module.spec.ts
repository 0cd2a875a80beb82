import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore } from '../src/app/store';
import { extensionLine, moduleFiles, requireFree } from '../scripts/new-module/module-files';
import { parseName } from '../scripts/new-module/names';

const SCRIPTS = join(__dirname, '..', 'scripts', 'new-module');
const MIGRATION = { number: 7, timestamp: 1_795_300_000_000 };

describe('npm run new:module', () => {
  it('writes the name in every form of code and prose, and nothing of the template', () => {
    const files = moduleFiles(parseName(['opening-hours']), MIGRATION);
    const all = [...files].flat().join('\n');
    for (const form of [
      `name: 'opening-hours'`,
      'class OpeningHour {',
      'class OpeningHoursService',
      'openingHourErrors.opening_hour_exists()',
      'CREATE TABLE opening_hours',
      `OPENING_HOURS_PATH = '/opening-hours'`,
      `summary: 'Add an opening hour'`,
      'An opening hour of the store.',
      'Lists the opening hours of the store',
      'class OpeningHours1795300000000',
    ]) {
      expect(all).toContain(form);
    }
    expect(all).not.toMatch(/spare|0000-|1700000000000/i);
  });

  it('creates the folders src/NAME and test/NAME, with specs of each operation', () => {
    const files = moduleFiles(parseName(['categories', 'category']), MIGRATION);
    expect([...files.keys()].sort()).toEqual([
      'src/categories/categories.controller.ts',
      'src/categories/categories.dto.ts',
      'src/categories/categories.errors.ts',
      'src/categories/categories.extension.ts',
      'src/categories/categories.module.ts',
      'src/categories/categories.repository.ts',
      'src/categories/categories.scopes.ts',
      'src/categories/categories.service.ts',
      'src/categories/category.entity.ts',
      'src/categories/index.ts',
      'src/categories/migrations/0007-categories.ts',
      'test/categories/create-category.spec.ts',
      'test/categories/get-category.spec.ts',
      'test/categories/list-categories.spec.ts',
      'test/categories/operations.ts',
    ]);
  });

  it('adds one line to the list of modules, in the form of the others', () => {
    const list = readFileSync(join(__dirname, '..', 'src', 'app', 'own-extensions.ts'), 'utf8');
    const line = extensionLine(parseName(['opening-hours']));
    expect(line).toBe("export { openingHoursExtension } from '../opening-hours';\n");
    const form = (text: string) => text.replaceAll(/[\w-]+Extension|'[^']*'/g, '…');
    expect(list.split('\n').map(form)).toContain(form(line).trim());
    expect(list.endsWith(';\n')).toBe(true);
  });

  it.each(['accounts', 'orders', 'support'])(
    'rejects %s: a folder of src, an extension or a folder of test has the name',
    (plural) => {
      const name = { plural, singular: 'other' };
      expect(() => requireFree(name, createStore().scopes)).toThrow('is taken: choose another.');
      expect(() => requireFree({ ...name, plural: 'gadgets' }, createStore().scopes)).not.toThrow();
    },
  );

  it('exits with 2 and prints the sentence, without a stack trace', () => {
    const program = ['-r', join(__dirname, 'support', 'typescript.cjs'), join(SCRIPTS, 'main.ts'), 'Pets'];
    const { status, stderr } = spawnSync(process.execPath, program, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^"Pets" is no valid name: .*\.\n$/)]);
  });

  it.each([
    [[], 'Give the plural, and the singular if needed'],
    [['one', 'two', 'three'], 'Give the plural, and the singular if needed'],
    [['Pets'], '"Pets" is no valid name'],
    [['cats', 'Cat'], '"Cat" is no valid name'],
    [['opening_hours'], '"opening_hours" is no valid name'],
    [['-h'], '"-h" is no valid name'],
    [[`${'x'.repeat(40)}s`], 'is no valid name'],
    [['categories'], 'Give the singular of "categories", too: npm run new:module -- categories SINGULAR'],
    [['boxes'], 'Give the singular of "boxes"'],
    [['glass'], 'Give the singular of "glass"'],
    [['support'], 'Give the singular of "support"'],
    [['sheep', 'sheep'], 'The plural and the singular must differ'],
    [['pages'], 'The code of a module uses Page already'],
    [['texts'], 'The code of a module uses Text already'],
  ])('rejects the names %j with one sentence', (names, message) => {
    expect(() => moduleFiles(parseName(names), MIGRATION)).toThrow(message);
  });
});
