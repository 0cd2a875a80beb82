import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';

const ROOT = join(__dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const versionOf = (file: string): string => JSON.parse(read(file)).version;
const VERSION = versionOf('package.json');

interface Job {
  readonly needs?: readonly string[];
  readonly steps?: readonly { readonly name?: string; readonly run?: string }[];
}

const { jobs } = load(read('.github/workflows/release.yml')) as { jobs: Readonly<Record<string, Job>> };

// actionlint checks the workflows in test/interop. No runner has executed this one.
describe('the release workflow', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'animal-store-release-'));
    for (const file of ['package.json', 'CHANGELOG.md', 'clients/typescript/package.json']) {
      mkdirSync(join(folder, file, '..'), { recursive: true });
      cpSync(join(ROOT, file), join(folder, file));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs a step as a runner does. @returns its exit status */
  const runStep = (job: string, name: string, tag: string, at = ''): number | null => {
    const step = jobs[job]!.steps!.find((each) => each.name === name)!;
    const own = { GITHUB_REF_NAME: tag, GITHUB_SERVER_URL: 'https://example.com', GITHUB_REPOSITORY: 'a/b' };
    const env = { ...process.env, ...own };
    return spawnSync('bash', ['-e', '-c', step.run!], { cwd: join(folder, at), env, encoding: 'utf8' })
      .status;
  };

  it('publishes nothing before the tests pass and the tag is the version', () => {
    const free = Object.keys(jobs).filter((name) => jobs[name]!.needs === undefined);
    expect(free).toEqual(['tests', 'tag']);
    for (const { needs } of Object.values(jobs)) expect([undefined, free]).toContainEqual(needs);
    expect(runStep('tag', 'The tag is the version', `v${VERSION}`)).toBe(0);
    for (const tag of [VERSION, 'v0.9.0', `v${VERSION}-rc.1`])
      expect([tag, runStep('tag', 'The tag is the version', tag)]).toEqual([tag, 1]);
  });

  it('publishes clients of the same version as the service', () => {
    expect(versionOf('clients/typescript/package.json')).toBe(VERSION);
    expect(read('clients/python/pyproject.toml')).toContain(`\nversion = "${VERSION}"\n`);
  });

  it('has the part of this version as notes', () => {
    expect(runStep('tag', 'Notes of this version', `v${VERSION}`)).toBe(0);
    const notes = readFileSync(join(folder, 'notes.md'), 'utf8');
    const [, rest = ''] = read('CHANGELOG.md').split(new RegExp(`^## \\[${VERSION}\\] - [0-9-]{10}\n`, 'm'));
    expect(notes).toBe(rest.split(/^## /m)[0]);
    expect(notes.length).toBeGreaterThan(100);
    expect(runStep('tag', 'Notes of this version', 'v0.9.0')).toBe(1);
  });

  it('publishes a package that names its repository', () => {
    expect(runStep('npm', 'Make the package public', `v${VERSION}`, 'clients/typescript')).toBe(0);
    const made = JSON.parse(readFileSync(join(folder, 'clients/typescript/package.json'), 'utf8'));
    expect(made).not.toHaveProperty('private');
    expect(made.repository).toEqual({
      type: 'git',
      url: 'git+https://example.com/a/b.git',
      directory: 'clients/typescript',
    });
  });
});
