import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './files.mjs';

const CLIENT = join(ROOT, 'clients', 'typescript');

/** The program of the packed client, which the runner has installed. */
export const packedClient = join(
  process.env.INTEROP_CLIENT ?? '',
  'node_modules',
  'animal-store-client',
  'dist',
  'index.js',
);

/** Packs the built client of this repository, and installs the package in an empty folder, as a user does. */
export async function installPackedClient() {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-client-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const npm = (cwd, ...args) => promisify(execFile)('npm', args, { cwd });
  try {
    const packed = await npm(CLIENT, 'pack', '--silent', '--pack-destination', folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    await npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.stdout.trim()}`);
    return { environment: { INTEROP_CLIENT: folder }, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
